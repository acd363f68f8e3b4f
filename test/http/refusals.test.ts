import { deepStrictEqual, match, ok, strictEqual } from 'node:assert';
import { once } from 'node:events';
import http from 'node:http';
import { connect } from 'node:net';
import { suite, test } from 'node:test';
import { FakeClock } from '../support/clock.ts';
import { startServer } from '../support/server.ts';
import { openServer } from './server.ts';

const LARGE = JSON.stringify({ spec: 'x'.repeat(4_000_000) });
const TIMES = 4;

suite('a request that is refused before all of it was read', () => {
  test('is answered, whatever is refused about it', async () => {
    // A process of its own: in one with its caller, it never closes a connection while the caller writes.
    await using server = await startServer({
      env: { SPINE_FILES: 'off', SPINE_BLOB_LIMIT_BYTES: '1000000' },
    });
    const { url, tokens } = server;
    const json = { 'content-type': 'application/json' };
    const known = { authorization: `Bearer ${tokens.head}` };
    const form = { 'content-type': 'multipart/form-data; boundary=b' };
    const file = `--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n${LARGE}\r\n--b--\r\n`;
    const chunks = (): ReadableStream => new Blob([LARGE]).stream();
    const cases: [string, number, RequestInit & { duplex?: 'half' }][] = [
      ['/jobs', 413, { body: LARGE, headers: { ...json, ...known } }],
      ['/jobs', 413, { body: chunks(), duplex: 'half', headers: { ...json, ...known } }],
      ['/jobs', 401, { body: LARGE, headers: json }],
      ['/jobs', 415, { body: LARGE, headers: { ...known, 'content-type': 'text/plain' } }],
      ['/nowhere', 413, { body: LARGE, headers: json }],
      ['/jobs', 403, { body: LARGE, headers: { ...json, ...known, origin: 'http://elsewhere.test' } }],
      ['/blobs', 413, { body: file, headers: { ...form, ...known } }],
      ['/blobs', 401, { body: file, headers: form }],
      ['/jobs/none/blobs', 404, { body: file, headers: { ...form, ...known } }],
    ];
    for (const [path, expected, init] of cases) {
      for (let i = 0; i < TIMES; i++) {
        const again = init.duplex === undefined ? init : { ...init, body: chunks() };
        const answer = await fetch(url + path, { method: 'POST', ...again });
        const body = (await answer.json()) as { error?: string };
        ok(answer.status === expected && body.error, `${path}, ${i}: ${answer.status}, not ${expected}`);
      }
    }
    strictEqual((await fetch(`${url}/health`)).status, 200);
  });

  test('is answered to a caller who sends all before it reads, and closes then', async (t) => {
    const { port } = await openServer(t);
    for (let i = 0; i < TIMES; i++) {
      const outgoing = http.request({ port, method: 'POST', path: '/jobs', agent: false });
      outgoing.setHeader('content-type', 'application/json');
      outgoing.setHeader('connection', 'close');
      outgoing.end(LARGE);
      const [incoming] = (await once(outgoing, 'response')) as [http.IncomingMessage];
      strictEqual(incoming.statusCode, 401);
      incoming.resume();
      await once(incoming, 'end');
    }
  });

  test('is cut off when it goes on for too long', async (t) => {
    const clock = new FakeClock();
    const { port, server, head } = await openServer(t, () => ({ clock }));
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write('POST /jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000\r\n\r\nx');
    const [answer] = (await once(socket, 'data')) as [Buffer];
    match(String(answer), /^HTTP\/1\.1 401 /);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    await clock.advance(5_000);
    await closed;
    const { status } = await head.get('/health');
    deepStrictEqual([status, server.listening], [200, true]);
  });

  test('is cut off when there is too much of it', async (t) => {
    const { port } = await openServer(t);
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write('POST /jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n');
    const piece = Buffer.alloc(1_000_000, 'x');
    let sent = 0;
    const write = (): void => {
      while (!socket.destroyed && socket.write(piece)) sent++;
      sent++;
    };
    socket.on('drain', write);
    socket.resume();
    write();
    await closed;
    ok(sent < 200, `${sent} MB were taken`);
  });
});
