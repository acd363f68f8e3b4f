/** One session from its beginning to its verdict: watched, limited in time, ended with its lease. */

import { JobFailure, JobInterrupted, PutOff, SpineApiError } from '../../client/errors.ts';
import type { JobContext } from '../../client/job-run.ts';
import { type Platform, sleep } from '../../client/platform.ts';
import { rejection, within } from '../time-limit.ts';
import type { Session, SessionEnd, SessionOrder, SessionRunner } from './session.ts';

export interface SessionHost {
  readonly platform: Platform;
  readonly runner: SessionRunner;
  /** Whether the agent has ended its own job, by its own call: then nobody's word counts but that. */
  readonly endedByAgent: () => Promise<boolean>;
  /** Aborts when nobody waits any longer for a session that cannot be ended. */
  readonly over: AbortSignal;
  /** Hears when it cannot be ended, once, and when it could be in the end. */
  readonly onStuck: (isStuck: boolean) => void;
}

type Context = Pick<JobContext, 'signal' | 'log' | 'endedItself'>;

const KILL_MS = 8_000;
const KILL_AGAIN_MS = 2_000;
/** Somebody else may be at work on the task already. */
const ASK_MS = 2_000;
/** Its job is done, and the next one waits: what an agent still has to say or to tidy up takes no longer than this. */
const LAST_WORDS_MS = 60_000;
const TIMEOUT = 'Session timeout exceeded';

/** What the session left, as the job's result; what it did not do well is a failure that is not tried again. */
export async function runSession(host: SessionHost, order: SessionOrder, context: Context): Promise<unknown> {
  const watch = new Watch(host.platform, order.timeoutMs);
  try {
    const session = await begun(host, order, context, watch);
    const end = await endOf(host, order, session, context, watch);
    if (end.asked !== undefined) throw end.asked;
    if (end.ok && end.text.trim() !== '') return { sessionId: order.id, text: end.text, ...end.facts };
    if (await host.endedByAgent()) {
      context.endedItself();
      return { sessionId: order.id, text: end.text, ...end.facts };
    }
    const reason = end.reason ?? 'The session ended without a word: nothing shows that anything was done.';
    throw failure(order, reason, end);
  } finally {
    watch.stop();
  }
}

/** A session that cannot be begun has done nothing. */
async function begun(
  host: SessionHost,
  order: SessionOrder,
  { signal, log }: Context,
  watch: Watch,
): Promise<Session> {
  const { runner } = host;
  signal.throwIfAborted();
  const over = new AbortController();
  const beginning = runner.begin(order, log);
  try {
    const late = watch.reached.then(() => 'late' as const);
    const first = await Promise.race([beginning, late, rejection(signal, over.signal)]);
    if (first !== 'late') return first;
  } catch (error) {
    // Then nothing was begun.
    if (error instanceof PutOff) throw error;
    if (error instanceof JobFailure) throw failure(order, error.message, null, error.cause);
    await unwanted(host, order, beginning);
    if (error instanceof JobInterrupted) throw error;
    throw failure(order, `The session could not be begun: ${wordsOf(error)}`);
  } finally {
    over.abort();
  }
  await unwanted(host, order, beginning);
  throw failure(order, TIMEOUT, null, 'timeout');
}

/** It may have begun all the same, or begin now. */
function unwanted(host: SessionHost, order: SessionOrder, beginning: Promise<Session>): Promise<void> {
  void beginning
    .then((session) => {
      session.ended.catch(() => undefined);
      return session.kill();
    })
    // That it could not begin was wanted; one that could is ended by its name as well.
    .catch(() => undefined);
  return ended(host, order, host.runner.endLeftover(order.id));
}

/** Whoever comes next must not find it at work: while it cannot be ended, its task and its slot are kept. */
async function ended(host: SessionHost, { id }: SessionOrder, ending: Promise<void>): Promise<void> {
  const { platform, runner, over, onStuck } = host;
  for (let tries = 1; ; tries++) {
    const hasEnded = await within(
      platform,
      KILL_MS,
      ending.then(() => true),
    );
    if (hasEnded === true) return tries === 1 ? undefined : onStuck(false);
    if (tries === 1) onStuck(true);
    if (over.aborted) return;
    await sleep(platform, KILL_AGAIN_MS, over).catch(() => undefined);
    if (over.aborted) return;
    ending = runner.endLeftover(id);
  }
}

async function endOf(
  host: SessionHost,
  order: SessionOrder,
  session: Session,
  { signal, endedItself }: Context,
  watch: Watch,
): Promise<SessionEnd> {
  const over = new AbortController();
  const late = watch.reached.then(() => 'late' as const);
  try {
    const first = await Promise.race([session.ended, late, rejection(signal, over.signal)]);
    if (first !== 'late') return first;
    await ended(host, order, session.kill());
    throw failure(order, TIMEOUT, null, 'timeout');
  } catch (error) {
    if (error instanceof JobFailure || error instanceof PutOff) throw error;
    // An agent that has ended its own job may say its last words.
    if (isRefused(error) && (await within(host.platform, ASK_MS, host.endedByAgent())) === true) {
      const last = await lastWords(host, session, late, endedItself());
      if (last !== null) return last;
    }
    await ended(host, order, session.kill());
    if (error instanceof JobInterrupted) throw error;
    throw failure(order, wordsOf(error));
  } finally {
    over.abort();
  }
}

/** What an agent says after the end of its job; null when it has to be ended. */
async function lastWords(
  { platform }: SessionHost,
  { ended: last }: Session,
  late: Promise<'late'>,
  nobodyWaits: AbortSignal,
): Promise<SessionEnd | null> {
  const over = new AbortController();
  try {
    const cut = Promise.race([late, rejection(nobodyWaits, over.signal)]).then(() => null);
    return await within(platform, LAST_WORDS_MS, Promise.race([last, cut]));
  } finally {
    over.abort();
  }
}

/** The server said that the lease is over. One that lapsed because nobody answered leaves no time to ask. */
function isRefused(error: unknown): boolean {
  return (
    error instanceof JobInterrupted && error.why === 'lease_lost' && error.cause instanceof SpineApiError
  );
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function failure(
  { id: sessionId }: SessionOrder,
  message: string,
  end: SessionEnd | null = null,
  cause: 'timeout' | 'stale' | 'crashed' | null = null,
): JobFailure {
  const details = {
    message,
    sessionId,
    ...end?.facts,
    ...(end !== null && { said: end.text.slice(-2_000) }),
  };
  return new JobFailure(message, { requeue: false, details, cause });
}

/** The time of one session. */
class Watch {
  readonly reached: Promise<void>;
  stop = (): void => {};

  constructor(platform: Platform, timeoutMs: number) {
    this.reached = new Promise((resolve) => (this.stop = platform.after(timeoutMs, resolve)));
  }
}
