/** Stand-ins on loopback for Slack and somebody's own webhook: as strict as the originals, and recording. */

import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readonly<Record<string, unknown>>;
  readonly raw: string;
}

export interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface Receiver extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** Everything that was taken, in order. */
  readonly taken: Received[];
  /** Given instead of the next answers. */
  readonly replies: Reply[];
  /** Everything that came, taken or not. */
  readonly came: Received[];
  /** From now on nothing is answered, until what this returns is called. */
  hang(): () => void;
}

type Judge = (received: Received) => Reply | Promise<Reply>;

export async function listen(judge: Judge): Promise<Receiver> {
  const taken: Received[] = [];
  const came: Received[] = [];
  const replies: Reply[] = [];
  let hanging = false;
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const received = await receive(request);
    came.push(received);
    if (hanging) return;
    const { status, headers, body = {} } = replies.shift() ?? (await judge(received));
    if (status === 200) taken.push(received);
    const type = typeof body === 'string' ? 'text/plain' : 'application/json';
    response.writeHead(status, { 'content-type': type, ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
  const server = createServer((request, response) => void answer(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    taken,
    came,
    replies,
    hang: () => {
      hanging = true;
      return () => {
        hanging = false;
      };
    },
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function receive(request: IncomingMessage): Promise<Received> {
  const raw = await text(request);
  let body: Record<string, unknown> = {};
  try {
    body = JSON.parse(raw) as Record<string, unknown>;
  } catch {
    // Judged by whoever expects JSON.
  }
  return { path: request.url ?? '', headers: request.headers, body, raw };
}

/** chat.postMessage, and an incoming webhook at /services/x. */
export function slack(token: string): Promise<Receiver> {
  let messages = 0;
  return listen(({ path, headers, body }) => {
    const isHook = path === '/services/x';
    const refuse = (error: string): Reply =>
      isHook ? { status: 400, body: error } : { status: 200, body: { ok: false, error } };
    if (!isHook && path !== '/chat.postMessage') return refuse('unknown_method');
    if (!isHook && headers.authorization !== `Bearer ${token}`) return refuse('invalid_auth');
    const known = isHook ? ['text'] : ['channel', 'text'];
    if (Object.keys(body).some((name) => !known.includes(name))) return refuse('invalid_arguments');
    const { text: said } = body;
    if (typeof said !== 'string' || said === '') return refuse('no_text');
    if (said.length > 4_000) return refuse('msg_too_long');
    if (/[<>]|&(?!(?:amp|lt|gt);)/.test(said)) return refuse('invalid_arguments');
    if (isHook) return { status: 200, body: 'ok' };
    if (!/^[CDG#]/.test(String(body['channel']))) return refuse('channel_not_found');
    return { status: 200, body: { ok: true, ts: `1700000000.00000${++messages}`, channel: body['channel'] } };
  });
}

export function webhookReceiver(): Promise<Receiver> {
  return listen(() => ({ status: 200 }));
}
