import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { until } from '../support/clock.ts';
import { startServer } from '../support/server.ts';

const SECRET = 'secret-of-the-webhook-in-this-test';

type IsGenuine = (secret: string, headers: IncomingHttpHeaders, body: string, now?: number) => boolean;

const guide = readFileSync(new URL('../../docs/guides/events.md', import.meta.url), 'utf8');

const example = (name: string): string =>
  new RegExp(`\`\`\`${name}\\n([^]*?)\`\`\``).exec(guide)?.[1] ?? assert.fail(`the guide has no ${name}`);

/** The notice as the guide prints it, of another job. */
function printedNotice(told: object): object {
  const printed = JSON.parse(example('json notice')) as { job: object };
  return { ...printed, job: { ...printed.job, ...told } };
}

/** The check as the guide prints it. */
async function printedCheck(): Promise<IsGenuine> {
  const code = example('js webhook');
  const module = (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as {
    isGenuine: IsGenuine;
  };
  return module.isGenuine;
}

interface Got {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

test('a server posts the end of every job, signed so that the printed check takes it once and nothing else', async () => {
  const got: Got[] = [];
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    got.push({ headers: request.headers, body: await text(request) });
    response.end();
  };
  const receiver = createServer((request, response) => void take(request, response)).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  const server = await startServer({ env: { SPINE_WEBHOOK_URL: url, SPINE_WEBHOOK_SECRET: SECRET } });
  try {
    const { body: job } = await server.head.post<{ id: string; no: number }>('/jobs', { target: 'any' });
    await server.head.post(`/jobs/${job.id}/cancel`, {});
    await until('the notice came', () => got.length > 0);
    const { headers, body } = got[0] ?? assert.fail('no notice');
    const { finishedAt } = (JSON.parse(body) as { job: { finishedAt: number } }).job;
    assert.ok(Math.abs(finishedAt - Date.now()) < 600_000);
    const { id, no } = job;
    const told = { id, no, state: 'cancelled', attempts: 0, finishedAt };
    assert.equal(body, JSON.stringify(printedNotice(told)));
    assert.equal(headers['x-spine-kind'], 'job.ended');
    const isGenuine = await printedCheck();
    assert.equal(isGenuine('another secret', headers, body), false);
    assert.equal(isGenuine(SECRET, headers, body.replace('cancelled', 'done')), false);
    assert.equal(isGenuine(SECRET, { ...headers, 'x-spine-notice': 'another' }, body), false);
    assert.equal(isGenuine(SECRET, headers, body, Date.now() + 600_000), false);
    const later = `t=${Math.floor(Date.now() / 1000) + 1},${String(headers['x-spine-signature']).split(',')[1]}`;
    assert.equal(isGenuine(SECRET, { ...headers, 'x-spine-signature': later }, body), false);
    assert.equal(isGenuine(SECRET, headers, body), true);
    assert.equal(isGenuine(SECRET, headers, body), false, 'heard twice');
  } finally {
    await server.stop();
    receiver.close();
    receiver.closeAllConnections();
  }
});
