/**
 * A recording stand-in for an OpenClaw gateway, on loopback, for what the real one cannot be made to do.
 * It is as strict as the original and behaves as the test tells it to.
 */

import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Plan } from './runs.ts';
import { acceptSocket, type ServerSocket } from './socket-server.ts';
import { answerHttp } from './stand-in-http.ts';
import { answerRpc, METHODS, RpcRefusal } from './stand-in-rpc.ts';
import { newState, type Recorded, type StandInState } from './stand-in-state.ts';

export interface StandIn {
  readonly url: string;
  /** How it behaves from now on. */
  readonly state: StandInState;
  /** The requests so far, those of a path or a WebSocket method. */
  requests(path: string): readonly Recorded[];
  /** Ends the turn that runs in the session. */
  finish(key: string, text: string): void;
  /** Takes no connections, as a gateway that is not running. */
  down(): Promise<void>;
  up(): Promise<void>;
  /** Dies with everything it runs; its sessions keep saying that they run. */
  crash(): Promise<void>;
  /** Goes on with a session that a crash cut off, as the original does by itself. */
  resume(key: string, plan: Plan): void;
  /** Sends this to everybody who is connected. */
  sendFrame(text: string): void;
  /** Ends the WebSockets, and nothing else. */
  dropSockets(): void;
  stop(): Promise<void>;
}

export async function startStandIn({ token }: { readonly token: string | null }): Promise<StandIn> {
  const state = newState(token);
  const sockets = new Set<ServerSocket>();
  const streams = new Set<Socket>();
  const server = createServer((request, response) => void answerHttp(state, request, response));
  server.on('connection', (stream) => {
    streams.add(stream);
    stream.on('close', () => streams.delete(stream));
  });
  server.on('upgrade', (request, stream: Duplex) => {
    // Whoever asked may be killed meanwhile.
    stream.on('error', () => undefined);
    if (!state.websocket) return void stream.end('HTTP/1.1 404 Not Found\r\nconnection: close\r\n\r\n');
    if (state.draining)
      return void stream.end('HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\n\r\n');
    acceptSocket(request, stream, state.maxPayload, (socket) => {
      sockets.add(socket);
      return { message: greet(state, socket), closed: () => void sockets.delete(socket) };
    });
  });
  let port = 0;
  const up = async (): Promise<void> => {
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
  };
  const down = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = new Promise((resolve) => server.close(resolve));
    for (const stream of streams) stream.destroy();
    await closed;
  };
  await up();
  return {
    url: `http://127.0.0.1:${port}`,
    state,
    requests: (path) => state.recorded.filter((request) => request.path === path),
    finish: (key, text) => {
      const run = state.runs.live(key);
      if (run === undefined) throw new Error(`nothing runs in ${key}`);
      run.finish({ status: 'ok', text });
    },
    down,
    up,
    crash: async () => {
      state.runs.crash();
      await down();
    },
    resume: (key, plan) => {
      const before = state.plan;
      state.plan = () => plan;
      const message = '[System] Your previous turn was interrupted by a gateway restart';
      state.runs.start({ runId: crypto.randomUUID(), key, message, inLedger: true });
      state.plan = before;
    },
    sendFrame: (text) => {
      for (const socket of sockets) socket.send(text);
    },
    dropSockets: () => {
      for (const socket of sockets) socket.destroy();
    },
    stop: down,
  };
}

/** Challenges a new client, and answers its frames once it has said who it is. */
function greet(state: StandInState, socket: ServerSocket): (text: string) => void {
  let known = false;
  const send = (frame: unknown): void => socket.send(JSON.stringify(frame));
  send({ type: 'event', event: 'connect.challenge', payload: { nonce: crypto.randomUUID() } });
  return (text) => {
    const { id, method, params } = JSON.parse(text) as {
      id: string;
      method: string;
      params: Record<string, unknown>;
    };
    record(state, method, params);
    if (state.silent.has(method)) return;
    if (known) return void answer(state, socket, id, method, params);
    const refusal = whyNot(state, method, params);
    if (refusal === null) {
      known = true;
      return send({ type: 'res', id, ok: true, payload: hello(state, params) });
    }
    send({ type: 'res', id, ok: false, error: refusal });
    socket.close(1008, String(refusal['message']));
  };
}

function whyNot(
  state: StandInState,
  method: string,
  params: Record<string, unknown>,
): Record<string, unknown> | null {
  if (method !== 'connect') return { code: 'INVALID_REQUEST', message: 'connect first' };
  const { client, auth, minProtocol, maxProtocol } = params as {
    client: { id: string; mode: string };
    auth?: { token?: string };
    minProtocol: number;
    maxProtocol: number;
  };
  if (client.id !== 'gateway-client' || client.mode !== 'backend')
    return { code: 'INVALID_REQUEST', message: 'client' };
  if (minProtocol > 4 || maxProtocol < 4) return { code: 'INVALID_REQUEST', message: 'protocol mismatch' };
  if (auth?.token === undefined) return { code: 'NOT_PAIRED', message: 'device identity required' };
  if (auth.token === state.token) return null;
  const details = { code: 'AUTH_TOKEN_MISMATCH' };
  return { code: 'INVALID_REQUEST', message: 'unauthorized: gateway token mismatch', details };
}

function hello(state: StandInState, params: Record<string, unknown>): Record<string, unknown> {
  return {
    type: 'hello-ok',
    protocol: 4,
    features: { methods: METHODS, events: ['connect.challenge', 'tick'] },
    auth: { scopes: params['scopes'] },
    policy: { maxPayload: state.maxPayload, tickIntervalMs: 30_000 },
  };
}

async function answer(
  state: StandInState,
  socket: ServerSocket,
  id: string,
  method: string,
  params: Record<string, unknown>,
): Promise<void> {
  const send = (frame: object): void => socket.send(JSON.stringify({ type: 'res', id, ...frame }));
  try {
    const { payload, last } = await answerRpc(state, method, params);
    send({ ok: true, payload });
    if (last !== undefined) send(await last);
  } catch (error) {
    if (!(error instanceof RpcRefusal)) throw error;
    send({ ok: false, error: error.frame });
  }
}

function record(state: StandInState, method: string, params: unknown): void {
  const at = Date.now();
  state.recorded.push({
    method: 'RPC',
    path: method,
    headers: {},
    body: params,
    at,
    endedAt: at,
    aborted: false,
  });
}
