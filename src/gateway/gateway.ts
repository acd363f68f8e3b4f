/** The client of one OpenClaw gateway. */

import { rememberedAuthority } from './authority.ts';
import { openChat } from './chat.ts';
import { type Access, accessOf } from './access.ts';
import { afterAcceptance, GatewayError } from './errors.ts';
import { type Followed, follow } from './follow.ts';
import { checkSession } from './session-names.ts';
import { readiness } from './readiness.ts';
import { listedSessions, type Sessions, type Sight, socketSessions } from './sessions.ts';
import { GatewaySocket } from './socket.ts';
import { openSocketTurns } from './socket-turns.ts';
import type { Gateway, GatewayOptions, SessionRef, Transport, TurnRef } from './types.ts';
import { wake } from './wake.ts';

export { GatewayError, type GatewayErrorKind } from './errors.ts';
export type {
  Activity,
  Gateway,
  GatewayOptions,
  Readiness,
  SessionRef,
  Transport,
  Turn,
  TurnRef,
  TurnResult,
} from './types.ts';

export function openGateway(options: GatewayOptions): Gateway {
  const access = accessOf(options);
  const socket = new GatewaySocket(access);
  const live = socketSessions(socket);
  const listed = listedSessions(access);
  const turns = openSocketTurns(access, socket, live);
  const chat = openChat(access);
  const choice = rememberedTransport(access, socket);
  const authority = rememberedAuthority(access);
  const closing = new AbortController();

  const sessions = async (): Promise<Sessions> => ((await choice.get()) === 'websocket' ? live : listed);
  const look = (turn: TurnRef): Promise<Sight> =>
    choice.guard(async () => (await sessions()).look(turn)).catch(unseen);

  async function abort(session: SessionRef): Promise<'aborted' | 'idle'> {
    checkSession(session);
    const here = chat.abort(session);
    if ((await choice.get()) === 'chat') return here;
    const there = await turns.abort(session);
    return here === 'aborted' ? here : there;
  }

  const followed: Followed = {
    look,
    messages: async (turn) => (await sessions()).messages(turn),
    ending: async ({ runKey, transport }) => (transport === 'websocket' ? turns.ending(runKey) : null),
    abort,
  };

  return {
    name: options.name,
    readiness: async () => {
      const open = await readiness(access);
      return open.ready ? await authority() : open;
    },
    transport: () => choice.get(),
    run: (turn, transport, signal, accepted) =>
      choice.guard(async () => {
        checkSession(turn);
        if (signal.aborted) throw new GatewayError('aborted', 'the turn was called off before it began');
        return transport === 'websocket'
          ? turns.run(turn, signal, accepted)
          : chat.run(turn, signal, accepted);
      }),
    activity: async (turn) => {
      const { status, mark, tool } = await look(turn);
      return { status, mark, tool };
    },
    follow: (turn, signal) =>
      choice.guard(async () => {
        try {
          return await follow(access, followed, turn, signal, closing.signal);
        } catch (error) {
          throw afterAcceptance(error);
        }
      }),
    abort: (session) => choice.guard(() => abort(session)),
    wake: (text, agentId) => wake(access, text, agentId),
    close: () => {
      closing.abort();
      return socket.close();
    },
  };
}

function unseen(): Sight {
  return { status: 'unknown', mark: null, tool: null, ended: null, tellsEnd: true };
}

interface TransportChoice {
  get(): Promise<Transport>;
  /** Does something with the gateway; after a broken connection the transport is chosen anew. */
  guard<T>(task: () => Promise<T>): Promise<T>;
}

function rememberedTransport(access: Access, socket: GatewaySocket): TransportChoice {
  let chosen: { readonly transport: Transport; readonly until: number } | null = null;
  return {
    get: async () => {
      if (chosen !== null && access.clock.now() < chosen.until) return chosen.transport;
      const transport = socket.runsTurnsNow ? 'websocket' : await chooseTransport(access, socket);
      chosen = { transport, until: access.clock.now() + access.limits.rememberMs };
      return transport;
    },
    guard: async (task) => {
      try {
        return await task();
      } catch (error) {
        if (error instanceof GatewayError && ['down', 'draining', 'lost'].includes(error.kind)) chosen = null;
        throw error;
      }
    },
  };
}

/**
 * Readiness comes first: a gateway that is starting takes no WebSocket yet, and must not pass for one that has none.
 * It is asked again after a failure, because the gateway may just have gone.
 */
async function chooseTransport(access: Access, socket: GatewaySocket): Promise<Transport> {
  await requireReady(access);
  try {
    return (await socket.runsTurns()) ? 'websocket' : 'chat';
  } catch {
    await requireReady(access);
    return 'chat';
  }
}

async function requireReady(access: Access): Promise<void> {
  const { ready, why } = await readiness(access);
  if (ready) return;
  const kind = why?.includes('draining') === true ? 'draining' : 'down';
  throw new GatewayError(kind, `the gateway is not ready: ${why}`);
}
