/** A server before a server: passes calls on, or refuses them as a test says, and writes down when each came. */

import http from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';

export interface Passed {
  readonly method: string;
  readonly path: string;
  readonly atMs: number;
}

export interface HttpProxy {
  readonly url: string;
  readonly calls: Passed[];
  /** The status to refuse a call with, or null to pass it on. */
  refuse: (call: Passed) => number | null;
}

export async function httpProxy(t: TestContext, target: string): Promise<HttpProxy> {
  const proxy: HttpProxy = { url: '', calls: [], refuse: () => null };
  const server = http.createServer((request, response) => {
    const call = { method: request.method ?? '', path: request.url ?? '', atMs: performance.now() };
    proxy.calls.push(call);
    const status = proxy.refuse(call);
    if (status !== null) {
      request.resume();
      response.writeHead(status, { 'content-type': 'application/json' }).end('{"error":"refused"}');
      return;
    }
    const onward = http.request(
      `${target}${call.path}`,
      { method: call.method, headers: request.headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(response);
      },
    );
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    request.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return Object.assign(proxy, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}
