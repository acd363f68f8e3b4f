/** Turns over the WebSocket: taken at once, told apart by our key, and not stopped when we go away. */

import { frameRefused, turnFailed } from './classify.ts';
import type { Answer } from './connection.ts';
import type { Access } from './access.ts';
import { afterAcceptance, GatewayError } from './errors.ts';
import { lastAnswer, usageIn, usageOf } from './history.ts';
import { type Fields, fields, items, numberOf, textOf } from './json.ts';
import { modelOverride, sessionName } from './session-names.ts';
import { sleep } from './sleep.ts';
import type { Sessions } from './sessions.ts';
import type { GatewaySocket } from './socket.ts';
import type { SessionRef, Turn, TurnRef, TurnResult, Usage } from './types.ts';

/** While it drains a gateway refuses to wait for a turn that it still runs. */
const DRAINING_PAUSE_MS = 1_000;
/** The last answer to `agent` has the whole text and follows the end within milliseconds. */
const LAST_ANSWER_MS = 1_000;

export interface SocketTurns {
  run(turn: Turn, signal: AbortSignal, accepted: () => void): Promise<TurnResult>;
  /** How a turn ended; null when it runs, or when the gateway has forgotten it in a restart. */
  ending(runKey: string): Promise<Fields | null>;
  abort(session: SessionRef, runKey?: string): Promise<'aborted' | 'idle'>;
}

export function openSocketTurns(access: Access, socket: GatewaySocket, sessions: Sessions): SocketTurns {
  const { clock, limits } = access;

  async function run(turn: Turn, signal: AbortSignal, accepted: () => void): Promise<TurnResult> {
    const startedAt = clock.now();
    const { first, last, forget } = await socket.exchange('agent', paramsOf(turn));
    if (!first.ok && textOf(first.payload['status']) === null) throw frameRefused(first.error);
    accepted();
    const over = new AbortController();
    try {
      const end = waitForEnd({ ...turn, transport: 'websocket', startedAt }, over.signal);
      const answer = last.then((answer) => resultOf(answer, sessionName(turn)));
      return await Promise.race([answer, end, rejectedBy(signal, over.signal)]);
    } catch (error) {
      if (!signal.aborted) throw afterAcceptance(error);
      await stop(turn);
      throw new GatewayError('aborted', 'the turn was stopped', { accepted: true, cause: error });
    } finally {
      over.abort();
      forget();
    }
  }

  /** Also notices a gateway that has gone silent. */
  async function waitForEnd(turn: TurnRef, over: AbortSignal): Promise<TurnResult> {
    for (;;) {
      const end = await wait(turn.runKey, limits.waitMs);
      if (over.aborted) throw new GatewayError('aborted', 'the turn is over');
      if (end === 'draining') await sleep(clock, DRAINING_PAUSE_MS, over);
      else if (end !== null) {
        if (end['status'] !== 'ok') throw turnFailed(end, await usageUpTo(turn));
        await sleep(clock, LAST_ANSWER_MS, over);
        const told = lastAnswer(await sessions.messages(turn), turn);
        return { text: told?.text ?? '', usage: told?.usage ?? null, sessionKey: sessionName(turn) };
      }
    }
  }

  /** Where it cannot be read, the failure is told without it. */
  async function usageUpTo(turn: TurnRef): Promise<Usage | null> {
    return sessions.messages(turn).then(
      (messages) => usageOf(messages, turn),
      () => null,
    );
  }

  /** Status "timeout" alone means that the waiting has ended, not the turn. */
  async function wait(runKey: string, timeoutMs: number): Promise<Fields | null | 'draining'> {
    try {
      const end = await socket.request('agent.wait', { runId: runKey, timeoutMs }, timeoutMs);
      return end['status'] === 'timeout' && numberOf(end['endedAt']) === null ? null : end;
    } catch (error) {
      if (error instanceof GatewayError && error.kind === 'draining') return 'draining';
      throw error;
    }
  }

  async function ending(runKey: string): Promise<Fields | null> {
    const end = await wait(runKey, 1);
    return end === 'draining' ? null : end;
  }

  async function abort(session: SessionRef, runKey?: string): Promise<'aborted' | 'idle'> {
    const run = runKey === undefined ? {} : { runId: runKey };
    const answer = await socket.request('sessions.abort', { key: sessionName(session), ...run });
    return answer['status'] === 'aborted' ? 'aborted' : 'idle';
  }

  async function stop(turn: Turn): Promise<void> {
    try {
      await abort(turn, turn.runKey);
    } catch (cause) {
      throw new GatewayError('lost', 'the turn may still run: it could not be stopped', {
        accepted: true,
        cause,
      });
    }
  }

  return { run, ending, abort };
}

function paramsOf(turn: Turn): Fields {
  const model = modelOverride(turn);
  return {
    message: turn.message,
    agentId: turn.agentId,
    sessionKey: sessionName(turn),
    idempotencyKey: turn.runKey,
    deliver: false,
    ...(model === null ? {} : { model }),
    ...(turn.thinking === null ? {} : { thinking: turn.thinking }),
    ...(turn.timeoutMs === null ? {} : { timeout: Math.max(1, Math.ceil(turn.timeoutMs / 1000)) }),
  };
}

function resultOf({ ok, payload, error }: Answer, sessionKey: string): TurnResult {
  const result = fields(payload['result']);
  const meta = fields(result['meta']);
  if (!ok || payload['status'] !== 'ok') {
    const why = textOf(fields(meta['error'])['message']) ?? textOf(fields(error)['message']);
    const usage = usageIn(fields(fields(meta['agentMeta'])['usage']));
    throw turnFailed({ ...payload, ...(why === null ? {} : { error: why }) }, usage);
  }
  const said = items(result['payloads'])
    .map(fields)
    .filter(({ isError }) => isError !== true);
  const text = said.flatMap(({ text }) => textOf(text) ?? []).join('\n\n');
  return { text, usage: usageIn(fields(fields(meta['agentMeta'])['usage'])), sessionKey };
}

function rejectedBy(signal: AbortSignal, over: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const stopped = (): void => reject(new GatewayError('aborted', 'the turn was called off'));
    if (signal.aborted) stopped();
    else signal.addEventListener('abort', stopped, { once: true, signal: over });
  });
}
