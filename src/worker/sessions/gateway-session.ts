/** Sessions of an agent at an OpenClaw gateway: one turn in a session of its own. */

import { JobFailure, type PutOff } from '../../client/errors.ts';
import {
  type Gateway,
  GatewayError,
  type Transport,
  type Turn,
  type TurnResult,
} from '../../gateway/gateway.ts';
import { sentinelOf } from '../../prompt/plan.ts';
import { askedIn } from '../asked-in-reply.ts';
import { isLost, isTurnedAwayWithAll, putOff } from '../gateway-failure.ts';
import {
  failedEnd,
  type Session,
  type SessionEnd,
  type SessionOrder,
  type SessionRunner,
} from './session.ts';

const AGENT = 'main';
const TEXT_CHARS = 65_536;
const PUT_OFF_MS = 30_000;

export class GatewaySessionRunner implements SessionRunner {
  readonly name = 'gateway';
  readonly hearsQuestions = true;
  readonly hasEnvironment = false;
  readonly #gateway: Gateway;
  readonly #now: () => number;

  /** The time is that of the installation, in epoch milliseconds. */
  constructor(gateway: Gateway, now: () => number) {
    this.#gateway = gateway;
    this.#now = now;
  }

  async begin(order: SessionOrder): Promise<Session> {
    const stop = new AbortController();
    const transport = await this.#gateway.transport().catch((error: unknown) => {
      throw (
        waiting(error) ??
        new JobFailure(`The session could not be begun: ${wordsOf(error)}`, { requeue: false })
      );
    });
    const { id, prompt: message, model, thinking, timeoutMs, mayAsk } = order;
    const turn = { agentId: AGENT, sessionKey: id, runKey: id, message, model, thinking, timeoutMs };
    const ended = this.#reply(turn, transport, stop.signal).then(
      ({ text, usage }) => endOf(text.slice(0, TEXT_CHARS), { usage }, mayAsk),
      (error: unknown) => {
        // It may go on there: that is for whoever ends it.
        if (error instanceof GatewayError && isLost(error)) throw error;
        const wait = waiting(error);
        if (wait !== null) throw wait;
        return failedEnd(wordsOf(error));
      },
    );
    const kill = async (): Promise<void> => {
      stop.abort(new Error('The session was ended.'));
      await ended.catch(() => undefined);
      // Where the way to the gateway is broken, the turn may go on there.
      await this.endLeftover(id);
    };
    return { ended, kill };
  }

  /** A turn runs on when the connection breaks, and the gateway resumes it after a restart: then its end is looked for. */
  async #reply(turn: Turn, transport: Transport, stop: AbortSignal): Promise<TurnResult> {
    const startedAt = this.#now();
    try {
      return await this.#gateway.run(turn, transport, stop, () => undefined);
    } catch (error) {
      if (stop.aborted || !(error instanceof GatewayError) || !isLost(error)) throw error;
      return await this.#gateway.follow({ ...turn, transport, startedAt }, stop);
    }
  }

  async endLeftover(id: string): Promise<void> {
    await this.#gateway.abort({ agentId: AGENT, sessionKey: id });
  }
}

/** A gateway that is away, or takes nobody, has begun nothing: all tasks wait for it. */
function waiting(error: unknown): PutOff | null {
  if (!(error instanceof GatewayError) || !isTurnedAwayWithAll(error)) return null;
  return putOff(error, PUT_OFF_MS);
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function endOf(text: string, facts: SessionEnd['facts'], mayAsk: boolean): SessionEnd {
  const asked = mayAsk ? askedIn(text) : null;
  if (asked !== null) return { ok: false, text, reason: null, facts, asked };
  return sentinelOf(text) === 'TASK_FAILED'
    ? failedEnd(text, facts, text)
    : { ok: true, text, reason: null, facts };
}
