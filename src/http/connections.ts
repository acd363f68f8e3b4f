/** Connections have a number and a time: none is kept by somebody who does not use it. */

import type { Server, ServerOptions } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { SpineError } from '../domain/error.ts';

export interface ConnectionLimits {
  readonly maxConnections: number;
  /** How long a caller may take for the head of a request, from the connection's first moment on. */
  readonly headersTimeoutMs: number;
  /** How long for all of it: a slow upload gets this long, and a stalled one ends here. */
  readonly requestTimeoutMs: number;
  /** How long a connection is kept after an answer, for the next request. */
  readonly keepAliveMs: number;
}

/** Connections beyond the limit that are told so; any more are closed without a word. */
const TOLD = 100;
/** Late requests are looked for this often, within a second of the shortest time allowed. */
const LOOK_MS = 1_000;

export function connectionOptions(limits: ConnectionLimits): ServerOptions {
  const { headersTimeoutMs, requestTimeoutMs } = limits;
  return {
    headersTimeout: Math.min(headersTimeoutMs, requestTimeoutMs),
    connectionsCheckingInterval: Math.min(LOOK_MS, headersTimeoutMs),
  };
}

export type Admission = (request: FastifyRequest) => SpineError | null;

/** Counts connections. The first request on one too many is answered so, and it ends with that. */
export function admitConnections(server: Server, { maxConnections }: ConnectionLimits): Admission {
  const tooMany = new WeakSet<Socket>();
  let open = 0;
  server.maxConnections = maxConnections + TOLD;
  server.on('connection', (socket: Socket) => {
    if (++open > maxConnections) tooMany.add(socket);
    socket.once('close', () => open--);
  });
  return ({ raw }) => {
    if (!tooMany.has(raw.socket)) return null;
    const message = 'There are too many connections.';
    return new SpineError('overloaded', { maxConnections, retryAfterS: 1 }, { message });
  };
}
