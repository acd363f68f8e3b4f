import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import { test } from 'node:test';
import type { Caller } from '../../src/client/caller.ts';
import { Relay } from '../../src/cli/mcp/relay.ts';

test('no more is asked for while the client does not read what came', async () => {
  let asked = 0;
  const text = async () => '{"jsonrpc":"2.0","id":1,"result":{}}';
  const stream = async () => {
    asked++;
    return { status: 200, header: () => null, text, body: [] };
  };
  const written: string[] = [];
  const { promise: read, resolve } = Promise.withResolvers<void>();
  const write = async (line: string): Promise<void> => {
    written.push(line);
    await read;
  };
  // What is used of a caller.
  const relay = new Relay({ stream } as unknown as Caller, new AbortController().signal, write);
  let taken = 0;
  const lines = (async () => {
    for (; taken < 100; taken++) await relay.take('{"jsonrpc":"2.0","id":1,"method":"ping"}');
  })();
  while (written.length < 64) await new Promise((next) => setImmediate(next));
  for (let i = 0; i < 10; i++) await new Promise((next) => setImmediate(next));
  deepStrictEqual([asked, written.length], [64, 64]);
  ok(taken < 64);
  resolve();
  await lines;
  await relay.end();
  strictEqual(written.length, 100);
});
