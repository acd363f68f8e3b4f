/** One session from its beginning to its verdict: watched, limited in time, ended with its lease. */

import { JobFailure, JobInterrupted } from '../../client/errors.ts';
import type { JobContext } from '../../client/job-run.ts';
import type { Platform } from '../../client/platform.ts';
import { rejection, within } from '../time-limit.ts';
import type { Session, SessionEnd, SessionOrder, SessionRunner } from './session.ts';

export interface SessionHost {
  readonly platform: Platform;
  readonly runner: SessionRunner;
  /** Whether the agent has ended its own job, by its own call: then nobody's word counts but that. */
  readonly endedByAgent: () => Promise<boolean>;
}

type Context = Pick<JobContext, 'signal' | 'log' | 'endedItself'>;

const KILL_MS = 8_000;
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
  { runner, platform }: SessionHost,
  order: SessionOrder,
  { signal, log }: Context,
  watch: Watch,
): Promise<Session> {
  signal.throwIfAborted();
  const beginning = runner.begin(order, log);
  try {
    return await Promise.race([beginning, watch.reached.then(() => 'late' as const)]).then((first) => {
      if (first === 'late') throw failure(order, TIMEOUT, null, 'timeout');
      return first;
    });
  } catch (error) {
    // It may have begun all the same, or begin now.
    void beginning.then(
      (session) => session.kill(),
      () => undefined,
    );
    await within(platform, KILL_MS, runner.endLeftover(order.id));
    if (error instanceof JobFailure) throw failure(order, error.message, null, error.cause);
    throw failure(
      order,
      `The session could not be begun: ${error instanceof Error ? error.message : String(error)}`,
    );
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
    await within(host.platform, KILL_MS, session.kill());
    throw failure(order, TIMEOUT, null, 'timeout');
  } catch (error) {
    if (error instanceof JobFailure) throw error;
    const isLost = error instanceof JobInterrupted && error.why === 'lease_lost';
    // An agent that has ended its own job may say its last words.
    if (isLost && (await within(host.platform, KILL_MS, host.endedByAgent())) === true) {
      endedItself();
      const last = await Promise.race([session.ended, late]);
      if (last !== 'late') return last;
    }
    await within(host.platform, KILL_MS, session.kill());
    throw error;
  } finally {
    over.abort();
  }
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
