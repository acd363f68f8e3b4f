import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startServer, type TestServer } from '../support/server.ts';

const PLANT = fileURLToPath(new URL('plant.ts', import.meta.url));
const EXIT_FAULT = 70;

async function until(what: string, met: () => boolean): Promise<void> {
  for (let i = 0; i < 1_000; i++) {
    if (met()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.fail(`it did not come to pass: ${what}`);
}

function planted(): Promise<TestServer> {
  return startServer({ env: { NODE_OPTIONS: `--import=${PLANT}` } });
}

test('a promise that fails while nobody waits for it is logged, and the server goes on', async () => {
  await using server = await planted();
  for (let i = 1; i <= 3; i++) {
    process.kill(server.pid, 'SIGUSR2');
    await until('the log line', () => server.output().split('a planted rejection').length > i);
  }
  assert.match(
    server.output(),
    /"level":"error","message":"Something failed that nobody waited for[^\n]+plant\.ts/,
  );
  assert.equal((await server.head.request('POST', '/jobs', { body: { spec: 1 } })).status, 201);
  await server.kill('SIGTERM');
  assert.equal(server.exitCode, 0);
});

test('an exception outside of any call stops the server in good order, with an exit code of its own', async () => {
  await using server = await planted();
  const { body } = await server.head.request('POST', '/jobs', { body: { spec: 1 } });
  process.kill(server.pid, 'SIGPIPE');
  await until('the end', () => server.exitCode !== null);
  assert.equal(server.exitCode, EXIT_FAULT, server.output());
  assert.match(server.output(), /The server stopped after an unexpected error: a planted exception/);
  await server.restart();
  const { id } = body as { id: string };
  assert.equal((await server.head.request('GET', `/jobs/${id}`)).status, 200);
});

test('no schema ends the server, neither when it is saved nor when a job names its type', async () => {
  await using server = await startServer();
  const save = (paramsSchema: unknown) => server.head.request('PUT', '/types/t', { body: { paramsSchema } });
  for (const schema of [
    { $async: true },
    { $async: true, properties: { a: { $ref: '#' } } },
    { properties: { a: { $async: true, type: 'string' } } },
    { $defs: { a: { $async: true } }, $ref: '#/$defs/a' },
  ]) {
    const { status, body } = await save(schema);
    assert.deepEqual([status, (body as { field?: string }).field], [400, 'paramsSchema']);
    // With Ajv the rejection of this one ended the process.
    await server.head.request('POST', '/jobs', { body: { type: 't', params: { a: 5 } } });
  }
  assert.equal((await server.anyone.request('GET', '/health')).status, 200);
  assert.equal(server.running, true);
});
