import { strictEqual } from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { startServer } from '../support/server.ts';

const ROUNDS = 4;

test('a stop that is asked for as soon as the server answers is in good order', async () => {
  await using server = await startServer();
  await server.kill('SIGTERM');
  for (let round = 0; round < ROUNDS; round++) {
    const up = server.restart();
    await listening(server.port);
    await server.kill('SIGTERM');
    strictEqual(server.exitCode, 0, server.output());
    await up.catch(() => undefined);
  }
});

/** Resolves at the first connection: the server has not come up whole by then. */
async function listening(port: number): Promise<void> {
  for (;;) {
    const socket = connect(port, '127.0.0.1');
    try {
      await once(socket, 'connect');
      return;
    } catch {
      // Not yet.
    } finally {
      socket.destroy();
    }
  }
}
