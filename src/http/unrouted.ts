/** Requests that reach no route: another method's path, or no HTTP at all. */

import type { Socket } from 'node:net';
import { ERRORS, type ErrorCode, SpineError } from '../domain/error.ts';
import { type Door, errorAnswer } from './door.ts';

/** The methods that a path does take; none when there is no such path. */
export function methodsOf(routes: readonly { method: string; path: string }[]): (url: string) => string[] {
  const patterns = routes.map(({ method, path }) => ({
    method,
    pattern: new RegExp(`^${path.replaceAll('.', '\\.').replace(/:\w+/g, '[^/]+')}$`),
  }));
  return (url) => {
    const path = url.split('?')[0] ?? '';
    return patterns.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method);
  };
}

/** What became of a request that could not be read, by the code that Node gives it. */
const BROKEN: Readonly<Record<string, { code: ErrorCode; message: string }>> = {
  HPE_HEADER_OVERFLOW: { code: 'too_large', message: 'The head of the request is too long.' },
  ERR_HTTP_REQUEST_TIMEOUT: { code: 'too_slow', message: 'The request took too long to come in.' },
};
const NO_HTTP = { code: 'bad_request', message: 'The request could not be read as HTTP.' } as const;

/** Node has no request to answer when it could not read one, so the answer is written by hand. Then the connection ends. */
export function answerBrokenRequest(door: Door): (error: Error & { code?: string }, socket: Socket) => void {
  return (error, socket) => {
    if (!socket.writable || error.code === 'ECONNRESET') {
      socket.destroy();
      return;
    }
    const { code, message } = BROKEN[error.code ?? ''] ?? NO_HTTP;
    const { body } = errorAnswer(door, new SpineError(code, {}, { message }), '');
    const text = JSON.stringify(body);
    const head = `HTTP/1.1 ${ERRORS[code].status} ${code}\r\nConnection: close\r\nContent-Type: application/json\r\n`;
    socket.write(`${head}Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
    // Without waiting for the other side, which may never hang up.
    socket.destroySoon();
  };
}
