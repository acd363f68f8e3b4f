import { deepStrictEqual, match, ok, strictEqual } from 'node:assert';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { suite, test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startServer } from '../support/server.ts';
import { openServer } from './server.ts';

const WITHIN_MS = 40_000;
/** What callers do who never hang up by themselves, and how they are answered. */
const KINDS: Readonly<Record<string, { readonly sends: string; readonly gets: RegExp }>> = {
  'no HTTP': { sends: 'hello\r\n\r\n', gets: /^HTTP\/1\.1 400 / },
  'nothing at all': { sends: '', gets: /^HTTP\/1\.1 408 .*"too_slow"/s },
  'half a head': { sends: 'GET /health HTTP/1.1\r\nHost: lo', gets: /^HTTP\/1\.1 408 .*"too_slow"/s },
  'a head that is too long': {
    sends: `GET /health HTTP/1.1\r\nX: ${'x'.repeat(20_000)}`,
    gets: /^HTTP\/1\.1 413 /,
  },
  'half a body': {
    sends: 'POST /jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{',
    gets: /^HTTP\/1\.1 401 /,
  },
  'one request and no more': {
    sends: 'GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n',
    gets: /^HTTP\/1\.1 200 /,
  },
};

suite('connections', () => {
  test('of callers who never hang up are closed, and their descriptors are free', async (t) => {
    await using server = await startServer({
      env: {
        // Those who send all they have at once are read in time, also by a server that waits for a processor.
        SPINE_HEADERS_TIMEOUT_MS: '5000',
        SPINE_REQUEST_TIMEOUT_MS: '6000',
        SPINE_KEEP_ALIVE_MS: '500',
        SPINE_FILES: 'off',
      },
    });
    const descriptors = (): number => readdirSync(`/proc/${server.pid}/fd`).length;
    await server.anyone.get('/health');
    server.anyone.close();
    const before = descriptors();
    const callers = Object.values(KINDS).flatMap(({ sends, gets }) =>
      Array.from({ length: 20 }, () => ({ ...holdOn(t, server.port, sends), gets })),
    );
    await Promise.all(callers.map(({ connected }) => connected));
    for (const { heard, gets } of callers) match(await heard, gets);
    const endsAt = performance.now() + WITHIN_MS;
    while (descriptors() > before && performance.now() < endsAt) await sleep(20);
    ok(descriptors() <= before, `${descriptors()} descriptors, ${before} before`);
  });

  test('beyond the limit are told so, and others find room when one has ended', async (t) => {
    const connections = {
      maxConnections: 3,
      headersTimeoutMs: 10_000,
      requestTimeoutMs: 10_000,
      keepAliveMs: 10_000,
    };
    const { port, server } = await openServer(t, () => ({ connections }));
    const request = 'GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n';
    const sockets: Socket[] = [];
    const open = async (): Promise<[Socket, string]> => {
      const socket = connect(port, '127.0.0.1');
      sockets.push(socket);
      socket.write(request);
      const [answer] = (await once(socket, 'data')) as [Buffer];
      return [socket, String(answer)];
    };
    const [first] = await open();
    await open();
    await open();
    const [refused, answer] = await open();
    match(answer, /^HTTP\/1\.1 429 .*retry-after: 1.*"There are too many connections\."/is);
    await once(refused.resume(), 'close');
    const ended = new Promise<void>((resolve) => {
      const look = (): void =>
        void server.getConnections((_, count) => (count < 3 ? resolve() : setImmediate(look)));
      look();
    });
    first.destroy();
    await ended;
    const [, again] = await open();
    match(again, /^HTTP\/1\.1 200 /);
    deepStrictEqual(server.listening, true);
    strictEqual(server.maxConnections, 103);
    for (const socket of sockets) socket.destroy();
  });
});

/** A caller that keeps its side of the connection open whatever the other side does. */
function holdOn(
  t: TestContext,
  port: number,
  sends: string,
): { connected: Promise<unknown>; heard: Promise<string> } {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  t.after(() => socket.destroy());
  socket.on('error', () => undefined);
  const connected = once(socket, 'connect');
  if (sends !== '') socket.write(sends);
  const heard = once(socket, 'data').then(([chunk]) => String(chunk));
  return { connected, heard };
}
