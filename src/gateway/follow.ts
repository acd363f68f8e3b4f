/** Waiting for a turn that somebody else started: we before a crash, or the gateway after its own. */

import { turnFailed } from './classify.ts';
import type { Access } from './access.ts';
import { GatewayError } from './errors.ts';
import { lastAnswer, usageOf } from './history.ts';
import type { Fields } from './json.ts';
import { sessionName } from './session-names.ts';
import { sleep } from './sleep.ts';
import type { Sessions, Sight } from './sessions.ts';
import type { TurnRef, TurnResult } from './types.ts';

export interface Followed {
  look(turn: TurnRef): Promise<Sight>;
  messages: Sessions['messages'];
  /** How the gateway itself remembers the turn's end; null when it does not. */
  ending(turn: TurnRef): Promise<Fields | null>;
  abort(turn: TurnRef): Promise<unknown>;
}

export async function follow(
  access: Access,
  followed: Followed,
  turn: TurnRef,
  signal: AbortSignal,
  closed: AbortSignal,
): Promise<TurnResult> {
  const { clock, limits } = access;
  let unseenSince: number | null = null;
  while (!signal.aborted) {
    // The turn goes on; whoever opens the gateway again can follow it.
    if (closed.aborted) throw lost('the connection to the gateway was closed');
    const seen = await followed.look(turn);
    if (seen.status === 'ended') return settle(followed, turn, seen);
    if (seen.status === 'absent') throw lost('the gateway does not know the session');
    if (!seen.tellsEnd) throw lost('the gateway does not say when a session ends');
    unseenSince = seen.status === 'unknown' ? (unseenSince ?? clock.now()) : null;
    if (unseenSince !== null && clock.now() - unseenSince >= limits.resumeMs) {
      throw lost(`no sign of the turn for ${limits.resumeMs} ms`);
    }
    await sleep(clock, limits.pollMs, AbortSignal.any([signal, closed]));
  }
  await followed.abort(turn);
  throw new GatewayError('aborted', 'the turn was stopped', { accepted: true });
}

async function settle(followed: Followed, turn: TurnRef, { ended }: Sight): Promise<TurnResult> {
  const end = await followed.ending(turn).catch(() => null);
  if (end !== null && end['status'] !== 'ok') {
    const messages = await followed.messages(turn).catch(() => []);
    throw turnFailed(end, usageOf(messages, turn));
  }
  if (end === null && ended !== 'done') throw endedAs(ended);
  const told = lastAnswer(await followed.messages(turn), turn);
  return { text: told?.text ?? '', usage: told?.usage ?? null, sessionKey: sessionName(turn) };
}

function endedAs(status: string | null): GatewayError {
  const kind = status === 'killed' ? 'aborted' : status === 'timeout' ? 'timeout' : 'failed';
  return new GatewayError(kind, `the session ended as ${status}`, { accepted: true });
}

function lost(message: string): GatewayError {
  return new GatewayError('lost', message, { accepted: true });
}
