import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { until } from '../support/clock.ts';
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
  await until('it has gone on by an hour', async () => (await timeOf(server)) - before >= HOUR_MS);
});
