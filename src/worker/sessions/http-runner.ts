/** Sessions that another server runs: spawned, looked after and ended under `/api/sessions` there. */

import { Caller } from '../../client/caller.ts';
import { JobFailure, PutOff, SpineApiError, SpineConnectionError } from '../../client/errors.ts';
import { type Platform, sleep } from '../../client/platform.ts';
import { mayRetry } from '../../client/retry.ts';
import {
  failedEnd,
  type Session,
  type SessionEnd,
  type SessionOrder,
  type SessionRunner,
} from './session.ts';

export interface HttpRunnerOptions {
  /** One whose transport knows what never arrived tells tasks that must wait from sessions that may have begun. */
  readonly platform: Platform;
  readonly url: string;
  readonly token: string | undefined;
  readonly pollMs: number;
}

interface Listed {
  readonly id?: unknown;
  readonly completed?: unknown;
  readonly error?: unknown;
  readonly result?: unknown;
}

/** Three tries with a second, then two between them; what the other side refuses is not tried again. */
const TRIES = 3;
const FIRST_WAIT_MS = 1_000;
const CALL_MS = 30_000;
/** So many looks may miss a session before it counts as gone. */
const MISSES = 3;

export class HttpRunner implements SessionRunner {
  readonly name = 'http';
  readonly hasEnvironment = false;
  readonly #options: HttpRunnerOptions;
  readonly #caller: Caller;

  constructor(options: HttpRunnerOptions) {
    this.#options = options;
    const { url: baseUrl, token, platform } = options;
    this.#caller = new Caller({ baseUrl, token, platform, retries: 0, timeoutMs: CALL_MS });
  }

  async begin(order: SessionOrder): Promise<Session> {
    const { id: sessionLabel, channel, prompt, model, thinking, askedMs } = order;
    const over = new AbortController();
    // What the text has; a server that limits sessions by itself is told of a task that asks for another time.
    const asked = askedMs === null ? {} : { timeoutMs: askedMs };
    const json = { sessionLabel, channel, prompt, model, thinking, autoStart: true, ...asked };
    // Once: a second call might find the session under way, and refuse it.
    const options = { timeoutMs: Math.min(CALL_MS, order.timeoutMs) };
    const call = { method: 'POST', path: '/api/sessions/spawn', json, repeatable: false, options } as const;
    await this.#caller.json(call).catch((error: unknown) => {
      if (isForAll(error)) throw this.#later(error);
      if (neverArrived(error)) throw new JobFailure(couldNot(error), { requeue: false });
      throw error;
    });
    let killed: Promise<void> | null = null;
    return {
      ended: this.#follow(order.id, over.signal),
      kill: () => {
        over.abort(new Error('The session was ended.'));
        return (killed ??= this.endLeftover(order.id));
      },
    };
  }

  async endLeftover(id: string): Promise<void> {
    const path = `/api/sessions/${encodeURIComponent(id)}`;
    await this.#tried(() => this.#caller.json({ method: 'DELETE', path, repeatable: true })).catch(
      (error: unknown) => {
        // It has ended, or never began.
        if (!(error instanceof SpineApiError) || error.status !== 404) throw error;
      },
    );
  }

  close(): Promise<void> {
    return this.#caller.close();
  }

  #later(error: Error): PutOff {
    const askedMs = error instanceof SpineApiError ? (error.retryAfterMs ?? 0) : 0;
    return new PutOff(Math.max(askedMs, 2 * this.#options.pollMs), couldNot(error));
  }

  async #follow(id: string, over: AbortSignal): Promise<SessionEnd> {
    const { platform, pollMs } = this.#options;
    for (let misses = 0; misses < MISSES && !over.aborted; ) {
      await sleep(platform, pollMs, over).catch(() => undefined);
      if (over.aborted) break;
      const found = await this.#find(id, over);
      // A list that cannot be read says nothing about the session.
      if (found === null) continue;
      misses = found === 'missing' ? misses + 1 : 0;
      const end = found === 'missing' ? null : endOf(found);
      if (end) return end;
    }
    // One that is not shown may be at work all the same: whoever hears of this ends it.
    if (!over.aborted) throw new Error('The session vanished without a result.');
    return failedEnd('The session was ended.');
  }

  /** A list shows the last ones only; a server that knows no names shows the same list, or refuses. Null says nothing. */
  async #find(id: string, over: AbortSignal): Promise<Listed | 'missing' | null> {
    const isIt = (each: Listed): boolean => each.id === id;
    const unread = (): null => null;
    const listed = await this.#look(over).catch(unread);
    const shown = listed?.find(isIt);
    if (listed === null || shown !== undefined) return shown ?? null;
    const refused = (error: unknown): Listed[] | null => (isRefusal(error) && !isForAll(error) ? [] : null);
    const named = await this.#look(over, `?label=${encodeURIComponent(id)}`).catch(refused);
    return named === null ? null : (named.find(isIt) ?? 'missing');
  }

  async #look(signal: AbortSignal, query = ''): Promise<readonly Listed[] | null> {
    const path = `/api/sessions${query}`;
    const call = { method: 'GET', path, repeatable: true, options: { signal } } as const;
    const listed: unknown = await this.#caller.json(call);
    return Array.isArray(listed) ? (listed as Listed[]) : null;
  }

  async #tried<T>(call: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await call();
      } catch (error) {
        if (isRefusal(error) || tries === TRIES) throw error;
        await sleep(this.#options.platform, FIRST_WAIT_MS * 2 ** (tries - 1));
      }
    }
  }
}

/** Whoever is there takes nobody, and whoever is not takes nobody either. */
const NOBODY: readonly number[] = [401, 403, 429];

/** Nothing was begun, and the next task would fare no better: all wait. */
function isForAll(error: unknown): error is Error {
  return mayRetry(error, false) || (error instanceof SpineApiError && NOBODY.includes(error.status));
}

/** Nobody was there, or said no. */
function neverArrived(error: unknown): error is Error {
  if (error instanceof SpineConnectionError) return !error.mayHaveArrived;
  return isRefusal(error);
}

function isRefusal(error: unknown): error is SpineApiError {
  return error instanceof SpineApiError && error.status < 500;
}

function couldNot({ message }: Error): string {
  return `The session could not be begun: ${message}`;
}

/** One that says both that it is complete and that it went wrong went wrong. */
function endOf({ completed, error, result }: Listed): SessionEnd | null {
  const hasError = error !== undefined && error !== null && error !== false && error !== '';
  if (hasError) return failedEnd(typeof error === 'string' ? error : JSON.stringify(error));
  if (completed !== true) return null;
  const text = typeof result === 'string' ? result : result === undefined ? '' : JSON.stringify(result);
  return { ok: true, text: text === '' ? 'The session is complete.' : text, reason: null, facts: {} };
}
