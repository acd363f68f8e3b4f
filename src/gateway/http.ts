/** One HTTP request. Not fetch: that gives up after 300 s, and a turn may be silent for hours. */

import type { IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { Clock } from '../domain/ports.ts';
import type { HttpAnswer } from './classify.ts';
import { GatewayError } from './errors.ts';

// An import of node:http would load its WebSocket too, which takes every start 20 milliseconds.
const { request: plainRequest } = process.getBuiltinModule('node:http');
const { request: secureRequest } = process.getBuiltinModule('node:https');

/** Above any answer that a gateway gives; a body beyond it would only fill the memory. */
const BODY_MAX_BYTES = 64 * 1024 * 1024;
/** Tells a dead host from a silent turn. */
const KEEP_ALIVE_MS = 30_000;

export interface HttpCall {
  readonly url: URL;
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
}

/** Fails with `down` when nothing can have been taken, with `lost` when it may have been. */
export function call({ url, method, headers, body, signal }: HttpCall): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const send = url.protocol === 'https:' ? secureRequest : plainRequest;
    // A connection of its own: a kept one may be closed by the gateway at the moment we use it.
    const request = send(url, {
      method,
      agent: false,
      headers: { ...headers, ...lengthOf(body) },
      ...(signal === undefined ? {} : { signal }),
    });
    let sent = false;
    const fail = (cause: unknown): void => reject(broken(cause, sent, signal));
    request.on('socket', (socket) => socket.setKeepAlive(true, KEEP_ALIVE_MS));
    request.on('finish', () => {
      sent = true;
    });
    request.on('error', fail);
    request.on('response', (response) => void read(response).then(resolve, fail));
    request.end(body);
  });
}

/** As `call`, with a limit. */
export async function callWithin(limitMs: number, clock: Clock, request: HttpCall): Promise<HttpAnswer> {
  const limit = new AbortController();
  const callOff = clock.after(limitMs, () => limit.abort());
  try {
    return await call({ ...request, signal: limit.signal });
  } catch (cause) {
    if (!limit.signal.aborted) throw cause;
    throw new GatewayError('down', `no answer within ${limitMs} ms`, { cause });
  } finally {
    callOff();
  }
}

function lengthOf(body: string | undefined): Record<string, string | number> {
  if (body === undefined) return {};
  return { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
}

async function read(response: IncomingMessage): Promise<HttpAnswer> {
  let bytes = 0;
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > BODY_MAX_BYTES)
      response.destroy(new Error(`the answer is longer than ${BODY_MAX_BYTES} bytes`));
  });
  const body = await buffer(response);
  return { status: response.statusCode ?? 0, headers: response.headers, body: body.toString('utf8') };
}

function broken(cause: unknown, sent: boolean, signal: AbortSignal | undefined): GatewayError {
  if (signal?.aborted === true)
    return new GatewayError('aborted', 'the request was called off', { accepted: sent, cause });
  const why = cause instanceof Error ? cause.message : String(cause);
  return sent
    ? new GatewayError('lost', `the connection broke: ${why}`, { accepted: true, cause })
    : new GatewayError('down', `cannot reach the gateway: ${why}`, { cause });
}
