/** The transport of Node: its own HTTP client with connections that are kept. */

import http from 'node:http';
import https from 'node:https';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { SpineConnectionError } from './errors.ts';
import { reasonOf } from './platform.ts';
import type { Transport, TransportRequest, TransportResponse } from './transport.ts';

export interface NodeTransportOptions {
  /** Connections to one server at a time. */
  readonly maxSockets?: number;
}

const MAX_SOCKETS = 256;

export function nodeTransport({ maxSockets = MAX_SOCKETS }: NodeTransportOptions = {}): Transport {
  const options = { keepAlive: true, maxSockets };
  const plain = new http.Agent(options);
  const secure = new https.Agent(options);
  const addresses = new Map<string, Address>();
  return {
    send: (request) => {
      const { origin, path } = split(request.url);
      let address = addresses.get(origin);
      if (address === undefined) addresses.set(origin, (address = addressOf(origin)));
      const { isSecure, ...host } = address;
      return isSecure
        ? exchange(request, (given) => https.request({ ...given, ...host, path, agent: secure }))
        : exchange(request, (given) => http.request({ ...given, ...host, path, agent: plain }));
    },
    close: () => {
      plain.destroy();
      secure.destroy();
    },
  };
}

interface Address {
  readonly isSecure: boolean;
  readonly hostname: string;
  readonly port: string | null;
}

/** `http://host:1/path` has its third slash where the path begins. Reading every address anew would cost more than that. */
function split(url: string): { origin: string; path: string } {
  const slash = url.indexOf('/', url.indexOf('//') + 2);
  return { origin: url.slice(0, slash), path: url.slice(slash) };
}

function addressOf(origin: string): Address {
  const { protocol, hostname, port } = new URL(origin);
  // In an address IPv6 stands in brackets, for the resolver it does not.
  const name = hostname.replace(/^\[|\]$/g, '');
  return { isSecure: protocol === 'https:', hostname: name, port: port === '' ? null : port };
}

type Open = (options: http.RequestOptions) => http.ClientRequest;

function exchange(request: TransportRequest, open: Open): Promise<TransportResponse> {
  const { method, body, signal } = request;
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(reasonOf(signal));
    const isWhole = typeof body === 'string' || body instanceof Uint8Array;
    const length = isWhole ? { 'content-length': String(Buffer.byteLength(body)) } : {};
    const outgoing = open({ method, headers: { ...request.headers, ...length } });
    const abort = (): void => void outgoing.destroy(reasonOf(signal));
    signal.addEventListener('abort', abort);
    outgoing.once('close', () => signal.removeEventListener('abort', abort));
    outgoing.on('error', (cause) => reject(named(request, cause)));
    outgoing.once('response', (incoming) => resolve(answerOf(request, incoming)));
    if (body === undefined || isWhole) outgoing.end(body);
    // An upload that the server refuses halfway ends with its answer; without one, the request's own error tells.
    else pipeline(Readable.from(body), outgoing).catch((cause: Error) => outgoing.destroy(cause));
  });
}

function answerOf(request: TransportRequest, incoming: http.IncomingMessage): TransportResponse {
  return {
    status: incoming.statusCode ?? 0,
    header: (name) => {
      const value = incoming.headers[name];
      return (Array.isArray(value) ? value.join(', ') : value) ?? null;
    },
    text: () => textOf(request, incoming),
    body: chunksOf(request, incoming),
  };
}

function textOf(request: TransportRequest, incoming: http.IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.once('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
    incoming.on('error', (cause) => reject(named(request, cause)));
  });
}

async function* chunksOf(
  request: TransportRequest,
  incoming: http.IncomingMessage,
): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of incoming) yield chunk as Uint8Array;
  } catch (cause) {
    throw named(request, cause as Error);
  }
}

/** With these the connection was never made. */
const NEVER_SENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
]);

function named({ method, url, signal }: TransportRequest, cause: Error & { code?: string }): Error {
  if (signal.aborted) return reasonOf(signal);
  const code = cause.code ?? 'UNKNOWN';
  const message = cause.message === '' ? code : cause.message;
  return new SpineConnectionError(`${method} ${url}: ${message}`, {
    code,
    mayHaveArrived: !NEVER_SENT.has(code),
    cause,
  });
}
