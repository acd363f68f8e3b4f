import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startServer, type TestServer } from '../support/server.ts';

const SET_CLOCK = fileURLToPath(new URL('set-clock.ts', import.meta.url));
const HOUR_MS = 3_600_000;

async function timeOf({ head }: TestServer): Promise<number> {
  const { body } = await head.request('POST', '/jobs', { body: { spec: 1 } });
  return Date.parse((body as { createdAt: string }).createdAt);
}

test('a server follows the clock of its machine when somebody sets it', async () => {
  await using server = await startServer({ env: { NODE_OPTIONS: `--import=${SET_CLOCK}` } });
  const before = await timeOf(server);
  process.kill(server.pid, 'SIGUSR2');
  let after = before;
  for (let tries = 0; after - before < HOUR_MS && tries < 200; tries++) after = await timeOf(server);
  assert.ok(after - before >= HOUR_MS, `it went on by ${after - before} ms`);
});
