import { once } from 'node:events';
import http, { type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface LosingProxy extends AsyncDisposable {
  readonly url: string;
}

/** Passes requests on and, where `loses` says so, drops the connection instead of the answer that came. */
export async function losingProxy(
  server: string,
  loses: (request: IncomingMessage) => boolean,
): Promise<LosingProxy> {
  const { hostname, port } = new URL(server);
  const proxy = http.createServer((request, response) => {
    const { method, url, headers } = request;
    const onward = http.request({ hostname, port, method, path: url, headers }, (answer) => {
      if (loses(request)) {
        answer.resume();
        response.socket?.destroy();
        return;
      }
      response.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.socket?.destroy());
    response.on('close', () => onward.destroy());
    request.pipe(onward);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      proxy.close();
      proxy.closeAllConnections();
      await once(proxy, 'close');
    },
  };
}
