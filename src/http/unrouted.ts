/** Requests that reach no route: another method's path, or no HTTP at all. */

import type { Socket } from 'node:net';
import { ERRORS, type ErrorCode, SpineError } from '../domain/error.ts';
import { errorAnswer } from './errors.ts';

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

/** Node has no request to answer when it could not read one, so the answer is written by hand. */
export function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const code: ErrorCode = error.code === 'HPE_HEADER_OVERFLOW' ? 'too_large' : 'bad_request';
  const { body } = errorAnswer(
    new SpineError(code, {}, { message: 'The request could not be read as HTTP.' }),
    '',
  );
  const text = JSON.stringify(body);
  const head = `HTTP/1.1 ${ERRORS[code].status} ${code}\r\nConnection: close\r\nContent-Type: application/json\r\n`;
  socket.end(`${head}Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
}
