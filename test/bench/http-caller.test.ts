import { deepStrictEqual, rejects, strictEqual } from 'node:assert';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { httpCaller, type HttpCaller } from '../../bench/http-caller.ts';

async function open(t: TestContext, connections: number, answer: RequestListener): Promise<HttpCaller> {
  const server: Server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const caller = httpCaller(`http://127.0.0.1:${port}`, connections, 'a-token');
  t.after(() => {
    caller.close();
    server.close();
  });
  return caller;
}

/** Sends the request back, in pieces. */
const echo: RequestListener = (request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const { authorization, prefer } = request.headers;
    const sent = Buffer.concat(chunks).toString();
    const body = Buffer.from(JSON.stringify({ method: request.method, authorization, prefer, sent }));
    response.writeHead(200, { 'content-length': body.length }).write(body.subarray(0, 30));
    setImmediate(() => response.end(body.subarray(30)));
  });
};

test('a call sends what it should, and reads an answer that comes in pieces', async (t) => {
  const caller = await open(t, 1, echo);
  const told = { authorization: 'Bearer a-token' };
  deepStrictEqual(await caller.get('/x'), { method: 'GET', ...told, sent: '' });
  deepStrictEqual(await caller.post('/x', { a: 'ä€😀' }, 'prefer: little\r\n'), {
    method: 'POST',
    ...told,
    prefer: 'little',
    sent: '{"a":"ä€😀"}',
  });
});

test('calls beyond the connections wait in line', async (t) => {
  const ports = new Set<number | undefined>();
  const caller = await open(t, 2, (request, response) => {
    ports.add(request.socket.remotePort);
    const body = JSON.stringify(request.url);
    response.writeHead(200, { 'content-length': body.length }).end(body);
  });
  const paths = Array.from({ length: 20 }, (_, i) => `/${i}`);
  deepStrictEqual(await Promise.all(paths.map((path) => caller.get(path))), paths);
  strictEqual(ports.size, 2);
});

test('a refusal and a lost connection are errors', async (t) => {
  const caller = await open(t, 2, (request, response) => {
    if (request.url === '/gone') request.socket.destroy();
    else response.writeHead(404, { 'content-length': 4 }).end('none');
  });
  await rejects(caller.get('/none'), /GET \/none answered 404: none/);
  await rejects(caller.get('/gone'), /closed the connection/);
});
