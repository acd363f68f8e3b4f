/**
 * A worker with a slot of its own: takes the slot, claims what is addressed to it, has a session do one task at a time, and
 * leaves in good order. While another process has the slot it stands by. A process that does several tasks at once has one
 * of these for each.
 */

import type { Caller } from '../../client/caller.ts';
import { JobInterrupted, SpineApiError } from '../../client/errors.ts';
import type { JobContext } from '../../client/job-run.ts';
import { Jobs } from '../../client/jobs.ts';
import { type Platform, sleep } from '../../client/platform.ts';
import type { ClaimedJob } from '../../client/types.ts';
import { Worker } from '../../client/worker.ts';
import type { WorkerLog } from '../ports.ts';
import { newNonce } from '../assignment.ts';
import { runSession } from '../sessions/run-session.ts';
import type { SessionRunner } from '../sessions/session.ts';
import { taskOrder } from '../sessions/task-order.ts';
import { endWaitMs, jitterMs, pollWaitMs } from './backoff.ts';
import { BridgeCalls, type SlotFacts, type StartedSlot } from './bridge-calls.ts';
import { goneInstance, type WorkerProcess } from './predecessor.ts';
import { Slot } from './slot.ts';

export interface WorkerServiceOptions {
  readonly slot: string;
  /** Whose tasks it takes: those of its base slot. */
  readonly target: string;
  readonly runner: SessionRunner;
  readonly caller: Caller;
  readonly platform: Platform;
  readonly log: WorkerLog;
  /** Where sessions reach the server. */
  readonly url: string;
  /** What else the worker says of itself. */
  readonly about: Readonly<Record<string, unknown>>;
  readonly process: WorkerProcess;
  readonly wallMs: () => number;
  /** Where a session works whose task names no folder; null where nobody said. */
  readonly defaultDir: string | null;
  readonly capabilities: readonly string[];
  readonly idleBeatMs: number;
  readonly workingBeatMs: number;
  readonly pollMs: number;
  readonly drainMs: number;
  readonly sessionTimeoutMs: number;
  readonly sessionTimeoutMaxMs: number;
  /** The slot is ours, and this is where heartbeats can be read as a file. */
  readonly onStarted: (started: StartedSlot) => void;
}

const LONGEST_CLAIM_MS = 60_000;
/** What an interrupted session has to end, before its task is given back without waiting for it. */
const GRACE_MS = 12_000;

type Why = 'stop' | 'lost';

/** No restart of the worker cures that. */
class BeatsTooSlow extends Error {
  readonly exitCode = 78;
}

/** Nobody but a worker of the same kind can end it. */
class LeftByAnotherKind extends Error {}

export class WorkerService {
  readonly #options: WorkerServiceOptions;
  readonly #calls: BridgeCalls;
  readonly #jobs: Jobs;
  readonly #instance: string;
  readonly #ending = new AbortController();
  #worker: Worker | null = null;
  /** Aborts when nobody waits any longer for a session that cannot be ended. */
  #over = new AbortController();
  #ended: Why | null = null;
  #draining = false;
  #failures = 0;

  constructor(options: WorkerServiceOptions) {
    this.#options = options;
    this.#calls = new BridgeCalls(options.caller);
    this.#jobs = new Jobs(options.caller);
    this.#instance = options.platform.randomId();
  }

  /** Works until stop(); rejects on a refusal that waiting cannot cure. */
  async run(): Promise<void> {
    while (!this.#ending.signal.aborted) {
      const staleMs = await this.#takeSlot();
      if (staleMs === null) return;
      await this.#checkBeats(staleMs);
      await this.#work(staleMs);
    }
  }

  /** A worker that is heard from too seldom would lose every task to the watchdog. */
  async #checkBeats(staleMs: number): Promise<void> {
    const { idleBeatMs, workingBeatMs } = this.#options;
    const slowMs = Math.max(idleBeatMs, workingBeatMs);
    if (slowMs < staleMs) return;
    await this.#openSlot().leave('error', this.#ending.signal);
    const name = slowMs === idleBeatMs ? 'SPINE_WORKER_IDLE_BEAT_MS' : 'SPINE_WORKER_BEAT_MS';
    throw new BeatsTooSlow(
      `${name} is ${slowMs}, but the server gives up workers after ${staleMs} ms without a word (SPINE_WORKER_STALE_MS): set it lower.`,
    );
  }

  /** Takes nothing new, waits for what runs, and leaves. Called again, it does not wait any more. */
  stop(): void {
    const { log, slot } = this.#options;
    const again = this.#ending.signal.aborted;
    log.info(again ? 'Stopping at once' : 'Stopping', { slot });
    this.#ending.abort(new Error('The worker stops.'));
    if (again) this.#hurry();
    else this.#end('stop', this.#options.drainMs);
  }

  /** What cannot be ended at once is left to the next process of the slot. */
  #hurry(): void {
    this.#end('stop', 0);
    this.#over.abort(new Error('The worker stops at once.'));
  }

  #end(why: Why, drainMs: number): void {
    this.#ended ??= why;
    // Why it ended is told where it is waited for.
    this.#worker?.stop({ drainMs }).catch(() => undefined);
  }

  /** How long the server lets a worker be silent, once the slot is ours; null when this process is to stop. */
  async #takeSlot(): Promise<number | null> {
    const { platform, log, slot } = this.#options;
    const { signal } = this.#ending;
    let standsBy = false;
    while (!signal.aborted) {
      try {
        const staleMs = await this.#tryToTake();
        this.#failures = 0;
        return staleMs;
      } catch (error) {
        if (signal.aborted) return null;
        const taken = error instanceof LeftByAnotherKind || isConflict(error);
        if (!taken && isHopeless(error)) throw error;
        if (!taken) log.warn('The server cannot be reached', { slot, error });
        else if (!standsBy) log.warn('Standing by: another process has the slot', { slot, error });
        standsBy = taken;
        const waitMs = taken ? this.#options.workingBeatMs : this.#pollWait();
        await sleep(platform, waitMs, signal).catch(() => undefined);
      }
    }
    return null;
  }

  /** What the slot's last process left running is ended before anything is begun, whatever became of its task meanwhile. */
  async #tryToTake(): Promise<number> {
    const { slot, runner, process: own, about, log, onStarted } = this.#options;
    const before = await this.#calls.slot(slot);
    if (before !== null) refuseLeft(before, runner.name);
    const gone = before === null ? null : goneInstance(before, own);
    // The slot is nobody's, or ours since a try that could not end the session.
    const isFree =
      gone !== null || before?.status === 'offline' || before?.metadata['instance'] === this.#instance;
    if (before !== null && isFree) await this.#endLeft(before);
    const metadata = { ...about, ...own, instance: this.#instance, runner: runner.name };
    const started = await this.#calls.start({ slot, instance: this.#instance, gone, metadata });
    // One that fell silent elsewhere may have lived until now.
    if (!isFree) await this.#endLeft(started.heartbeat);
    const { restartCount, draining } = started.heartbeat.metadata;
    this.#draining = draining === true;
    log.info('The slot is ours', { slot, restartCount, draining, recovered: started.recovered });
    onStarted(started);
    return started.staleMs;
  }

  async #endLeft(before: SlotFacts): Promise<void> {
    const session = leftBy(before);
    if (session === null) return;
    const { slot, runner, log } = this.#options;
    log.warn('The last process of the slot left a session', { slot, session });
    await runner.endLeftover(session);
  }

  async #work(leaseMs: number): Promise<void> {
    const { platform, capabilities, pollMs, drainMs, log, slot } = this.#options;
    this.#ended = null;
    const own = this.#openSlot();
    this.#over = new AbortController();
    const { signal: over } = this.#over;
    const worker = new Worker({
      client: { jobs: this.#jobs, platform },
      targets: await this.#targets(),
      concurrency: 1,
      ...(capabilities.length > 0 && { capabilities }),
      leaseMs,
      waitMs: Math.min(pollMs, LONGEST_CLAIM_MS),
      drainMs,
      graceMs: GRACE_MS,
      claimRetryMs: (failures) => pollWaitMs(platform, pollMs, failures),
      endRetryMs: endWaitMs,
      handler: (job, context) => this.#do(job, context, own, leaseMs, over),
      onIdle: () => own.rest(),
      onError: (error, job) => this.#report(error, job),
    });
    this.#worker = worker;
    if (this.#draining) worker.pause();
    own.start();
    try {
      await sleep(platform, jitterMs(platform, pollMs), this.#ending.signal).catch(() => undefined);
      if (!this.#ending.signal.aborted && this.#ended === null) await worker.run();
    } finally {
      this.#worker = null;
      const reason = this.#ending.signal.aborted ? 'graceful-shutdown' : 'error';
      if (this.#ended === 'lost') own.quit();
      else await own.leave(reason, over);
      this.#over.abort(new Error('The slot is free.'));
      log.info('The slot is free', { slot, why: this.#ended ?? reason });
    }
  }

  #openSlot(): Slot {
    const { slot: name, platform, log, idleBeatMs, workingBeatMs, wallMs } = this.#options;
    return new Slot(
      {
        platform,
        calls: this.#calls,
        instance: this.#instance,
        idleBeatMs,
        workingBeatMs,
        log,
        wallMs,
        onLost: (slot) => {
          if (this.#ended !== null) return;
          log.warn('Another process has the slot', { slot });
          this.#end('lost', 0);
        },
        onDraining: (draining) => (draining ? this.#worker?.pause() : this.#worker?.resume()),
      },
      name,
    );
  }

  /** What is addressed to nobody is for every worker whose token says so, and that does more than try things out. */
  async #targets(): Promise<string[]> {
    const { target, platform, runner } = this.#options;
    if (runner.name === 'demo') return [target];
    const both = [target, 'any'];
    try {
      // No type has this name, so nothing is claimed.
      await this.#jobs.claimNext({ targets: both, types: [platform.randomId()], max: 1 });
      return both;
    } catch (error) {
      const isForbidden = error instanceof SpineApiError && error.status === 403;
      if (isForbidden && error.details['target'] === 'any') return [target];
      if (isHopeless(error)) throw error;
      return both;
    }
  }

  async #do(
    job: ClaimedJob,
    context: JobContext,
    slot: Slot,
    leaseMs: number,
    over: AbortSignal,
  ): Promise<unknown> {
    const { platform, runner, url, defaultDir, log } = this.#options;
    const { sessionTimeoutMs: timeoutMs, sessionTimeoutMaxMs: timeoutMaxMs } = this.#options;
    const sessionId = `${labelsOf(slot.name)}${platform.randomId()}`;
    const facts = { slot: slot.name, task: job.id, session: sessionId };
    // What is held is known before anything is begun: whoever comes after a crash finds it.
    await slot.work(job, sessionId);
    log.info('A task begins', { ...facts, title: job.title });
    const endedByAgent = (): Promise<boolean> => this.#endedByAgent(job);
    let isLeft = false;
    const onStuck = (isStuck: boolean): void => {
      isLeft = isStuck;
      if (isStuck) log.warn('A session cannot be ended; nothing is begun before it is', facts);
      else log.info('The session could be ended after all', facts);
    };
    try {
      const order = taskOrder(job, {
        sessionId,
        url,
        defaultDir,
        timeoutMs,
        timeoutMaxMs,
        leaseMs,
        nonce: newNonce(platform),
        mayAsk: runner.hearsQuestions === true,
        tokenInPrompt: !runner.hasEnvironment,
      });
      const result = await runSession({ platform, runner, endedByAgent, over, onStuck }, order, context);
      log.info('A task is done', facts);
      return result;
    } catch (error) {
      log.warn('A task is not done', { ...facts, error });
      throw error;
    } finally {
      // What is left is named by the last heartbeat.
      if (!isLeft) slot.sessionOver();
    }
  }

  /** The job has ended well under our very claim: the agent said so itself. */
  async #endedByAgent({ id, attempt }: ClaimedJob): Promise<boolean> {
    const now = await this.#jobs.get(id).catch(() => null);
    return now !== null && now.state === 'done' && now.attempts === attempt;
  }

  #pollWait(): number {
    return pollWaitMs(this.#options.platform, this.#options.pollMs, this.#failures++);
  }

  /** That a lease is over is no trouble where the agent has ended the job itself. */
  #report(error: unknown, job: ClaimedJob | undefined): void {
    const { log, slot } = this.#options;
    const isOver = error instanceof JobInterrupted || isConflict(error);
    if (isOver) log.info('A lease is over', { slot, task: job?.id, error });
    else log.warn('Trouble with the server or a task', { slot, task: job?.id, error });
  }
}

const HOPELESS: readonly number[] = [400, 401, 403];

function isHopeless(error: unknown): boolean {
  return error instanceof SpineApiError && HOPELESS.includes(error.status);
}

function isConflict(error: unknown): boolean {
  return error instanceof SpineApiError && error.status === 409;
}

/** Only what has the name of the slot's own sessions: whoever had the slot may have told of anything. */
function leftBy({ slot, sessionId, metadata }: SlotFacts): string | null {
  const left = sessionId ?? metadata['leftSession'];
  const beginning = labelsOf(slot);
  if (typeof left !== 'string' || !left.startsWith(beginning)) return null;
  return left.slice(beginning.length).includes(':') ? null : left;
}

function labelsOf(slot: string): string {
  return `agent:main:worker-${slot}:`;
}

/** Programs end with their worker, and what cannot be told apart is tried. */
const REMOTE: readonly unknown[] = ['http', 'gateway'];

function refuseLeft(before: SlotFacts, own: string): void {
  const kind = before.metadata['runner'];
  const session = leftBy(before);
  if (session === null || kind === own || !REMOTE.includes(kind)) return;
  throw new LeftByAnotherKind(
    `The slot's last process worked with --runner ${String(kind)}, and its session ${session} may still be at work there: ` +
      `start it so once more, or end the session and then: spine workers remove ${before.slot}`,
  );
}
