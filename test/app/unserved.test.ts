import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { unservedBecause } from '../../src/app/unserved.ts';
import { eventually } from '../scheduler/support.ts';
import type { HttpClient } from '../support/http.ts';
import { startServer, type TestServer } from '../support/server.ts';

const ENTRY = join(import.meta.dirname, '../../bin/spine.cjs');

function spine({ url, tokens }: TestServer, command: string): string {
  const env = { PATH: process.env['PATH'], SPINE_URL: url, SPINE_TOKEN: tokens.head, NO_COLOR: '1' };
  const { stdout } = spawnSync(process.execPath, [ENTRY, ...command.split(' ')], { encoding: 'utf8', env });
  return stdout;
}

async function made(head: HttpClient, target: string): Promise<Record<string, unknown>> {
  const { status, body } = await head.post('/jobs', { target, spec: 'hello' });
  assert.equal(status, 201);
  return body;
}

test('work for a gateway that nobody has configured is made with a warning, and says what it waits for', async () => {
  await using server = await startServer({ env: { SPINE_GATEWAY: 'off' } });
  const { head } = server;
  const job = await made(head, 'gateway:other');
  assert.match(String(job['warning']), /^No gateway called other is configured here/);
  assert.equal(job['blockedOn'], 'gateway:other');
  const plain = await made(head, 'left-claw');
  assert.deepEqual([plain['warning'], plain['blockedOn']], [undefined, undefined]);
  const shown = (await head.get(`/jobs/${String(job['id'])}`)).body;
  assert.deepEqual(
    [shown['warning'], shown['blockedOn'], shown['state']],
    [undefined, 'gateway:other', 'queued'],
  );
  const { body } = await head.get<{ jobs: Record<string, unknown>[] }>('/jobs?target=gateway:other&limit=9');
  assert.equal(body.jobs[0]?.['blockedOn'], 'gateway:other');
  assert.match(spine(server, 'status'), /^waiting\s+1 for gateway:other: No gateway called other/m);
  assert.match(spine(server, 'doctor'), /1 job waits for gateway:other\. No gateway called other/);
  assert.match(spine(server, `jobs get ${String(job['no'])}`), /blocked on\s+gateway:other/);
  const ended = (await head.post(`/jobs/${String(job['id'])}/cancel`, {})).body;
  assert.equal(ended['blockedOn'], undefined);
  assert.doesNotMatch(spine(server, 'status'), /gateway:other/);
});

test('work for a gateway that is away says so until the gateway is back', async () => {
  let ready = false;
  const gateway = createServer((request, response) => {
    response.statusCode = ready && request.url === '/readyz' ? 200 : 503;
    response.end('{}');
  });
  await new Promise<void>((resolve) => gateway.listen(0, '127.0.0.1', resolve));
  const { port } = gateway.address() as AddressInfo;
  try {
    await using server = await startServer({
      env: { SPINE_GATEWAY: 'on', OPENCLAW_GATEWAY_URL: `http://127.0.0.1:${port}` },
    });
    const job = await eventually('it has looked', 20_000, async () => {
      const one = await made(server.head, 'gateway:main');
      return one['warning'] === undefined ? null : one;
    });
    assert.match(String(job['warning']), /^The gateway main takes no work now \(.*503.*\)/);
    ready = true;
    await eventually('it takes work', 20_000, async () => {
      const { body } = await server.head.get(`/jobs/${String(job['id'])}`);
      return body['blockedOn'] === undefined ? true : null;
    });
  } finally {
    gateway.closeAllConnections();
    gateway.close();
  }
});

test('nothing is said before a server has looked, and of targets that others serve', () => {
  const main = { target: 'gateway:main', ready: false, why: null };
  assert.equal(unservedBecause('gateway:main', null), null);
  assert.equal(unservedBecause('gateway:main', [main]), null);
  assert.equal(unservedBecause('left-claw', [main]), null);
  const away = { ...main, why: 'gone' };
  assert.match(unservedBecause('gateway:main', [away]) ?? '', /\(gone\)/);
  assert.equal(unservedBecause('gateway:main', [away, { ...main, ready: true }]), null);
  assert.equal(unservedBecause('gateway:main', [away, main]), null);
});
