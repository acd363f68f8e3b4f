/** Claims jobs, runs a handler on each, keeps their leases, and reports how they ended. */

import { NonRetryableError, SpineApiError } from './errors.ts';
import type { Blobs } from './blobs.ts';
import { type Claims, JobRun, type RunHost } from './job-run.ts';
import type { Jobs } from './jobs.ts';
import { type Platform, sleep } from './platform.ts';
import { delayMs } from './retry.ts';
import type { AgentMessage } from './message-types.ts';
import type { AnyJobs, Handler, HandlersByType, JobsOf, NamedTypes, TypeName } from './typed-jobs.ts';
import type { ClaimedJob, NextClaim } from './types.ts';

/** The calls that a worker makes. */
export type WorkerJobs = Pick<
  Jobs,
  'claimNext' | 'heartbeat' | 'finish' | 'release' | 'snooze' | 'log' | 'ask' | 'checkpoint'
>;

/** What a worker needs of a SpineClient. */
export interface WorkerClient<T = AnyJobs> {
  /** For the compiler alone. */
  readonly shapes?: () => T;
  /** The calls about jobs. */
  readonly jobs: JobsOf<T> extends Jobs ? WorkerJobs : Pick<JobsOf<T>, keyof WorkerJobs>;
  /** Where its handlers upload files to. */
  readonly blobs?: Pick<Blobs, 'upload'>;
  /** Its clock, timers and randomness. */
  readonly platform: Platform;
}

export interface WorkerOptions<T = AnyJobs, K extends TypeName<T> = TypeName<T>> {
  /** A SpineClient with the token of a worker. */
  readonly client: WorkerClient<T>;
  /** Whose jobs to take; those of the token when not given. */
  readonly targets?: readonly string[];
  /** Only jobs of these types; those that have a handler, where handlers are given by type. */
  readonly types?: readonly K[];
  /** What it can do: it gets no job that requires more. */
  readonly capabilities?: readonly string[];
  /** Jobs at the same time; 1 unless said. */
  readonly concurrency?: number;
  /** What it returns is the job's result; what it throws is the job's failure. Or one for each type, by its name. */
  readonly handler: Handler<T, NamedTypes<T, K>> | HandlersByType<T, K>;
  /** How long the first lease lasts; the job's own leaseMs unless said. */
  readonly leaseMs?: number;
  /** How long one call waits for work, at most 60,000; 20,000 unless said. */
  readonly waitMs?: number;
  /** How long stop() waits for running handlers; 30,000 unless said. */
  readonly drainMs?: number;
  /** After the drain, how long an interrupted handler gets to stop; 1,000 unless said. */
  readonly graceMs?: number;
  /** The handler says with `started` when the job's time begins. For workers inside the server. */
  readonly keepsTime?: boolean;
  /** Hears what other agents send to this worker, with every claim and heartbeat; handlers hear it by their context. */
  readonly onMessage?: (message: AgentMessage, job: ClaimedJob) => void;
  /** How long to wait after a claim that failed, by how many failed before; grows to 10 s unless said. */
  readonly claimRetryMs?: (failures: number) => number;
  /** The same for the call that ends a job. It is tried until it is answered, or the lease is over. */
  readonly endRetryMs?: (failures: number) => number;
  /** Drain and end at SIGTERM or SIGINT. */
  readonly handleSignals?: boolean;
  /** Hears when nothing runs any more: the end of the last job was taken, or is given up, and no job came with that. */
  readonly onIdle?: () => void;
  /** Hears of trouble with the server and of what handlers throw; printed to the console unless said. */
  readonly onError?: (error: unknown, job?: ClaimedJob) => void;
}

type Settings = Omit<WorkerOptions, 'handler' | 'client'>;

const WAIT_MS = 20_000;
const DRAIN_MS = 30_000;
const GRACE_MS = 1_000;
/** How long the calls that give a job back may take. */
const GIVE_BACK_LIMIT_MS = 5_000;
/** Lease tokens remembered, so that a repeated answer never starts a job a second time; and messages. */
const REMEMBERED = 10_000;

interface OpenClaim {
  readonly claimId: string;
  readonly askedAt: number;
}

/** Works on jobs until it is stopped. */
export class Worker<T = AnyJobs, K extends TypeName<T> = TypeName<T>> {
  readonly #options: Settings;
  readonly #jobs: WorkerJobs;
  readonly #platform: Platform;
  readonly #concurrency: number;
  readonly #running = new Map<JobRun, Promise<void>>();
  readonly #taken = new Set<string>();
  readonly #heard = new Set<string>();
  readonly #claimsEnd = new AbortController();
  readonly #host: RunHost;
  /** Claims that were sent and not answered; asked for again under the same id. */
  readonly #open: OpenClaim[] = [];
  #fuses = true;
  /** Calls off the claim that waits for work right now. */
  #waiting: AbortController | null = null;
  #resumed: Promise<void> | null = null;
  #resume = (): void => {};
  #drainMs: number;
  /** Aborts when nobody waits for running handlers any longer. */
  readonly #hurry = new AbortController();
  #slotFreed = (): void => {};
  #whole: Promise<void> | null = null;

  constructor(options: WorkerOptions<T, K>) {
    const { client, handler, concurrency = 1, drainMs = DRAIN_MS } = options;
    if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > 1_000)
      throw new TypeError(`concurrency must be a whole number from 1 to 1000, not ${concurrency}.`);
    this.#options = wantedOf(options);
    this.#jobs = client.jobs;
    this.#platform = client.platform;
    this.#concurrency = concurrency;
    this.#drainMs = drainMs;
    this.#host = {
      platform: this.#platform,
      jobs: this.#jobs,
      blobs: client.blobs ?? null,
      handler: handlerOf(handler),
      keepsTime: options.keepsTime ?? false,
      ...(options.onMessage && { onMessage: (message, job) => this.#hear(message, job) }),
      endRetryMs: options.endRetryMs ?? ((failures, error) => delayMs(this.#platform, failures, error)),
      report: (error, job) => this.#report(error, job),
      takeNext: () => this.#takeNext(),
      unanswered: (claimId, askedAt) => this.#open.push({ claimId, askedAt }),
      withoutNext: () => (this.#fuses = false),
    };
  }

  /** Works until stop(), a signal, or a refusal that waiting cannot cure, such as a wrong token: then it rejects. */
  run(): Promise<void> {
    if (this.#whole) throw new Error('This worker runs already, or has ended. Make a new one.');
    this.#whole = this.#run();
    return this.#whole;
  }

  /**
   * Claims nothing more, waits for the running handlers, gives back what they did not finish in time. Called again with a
   * `drainMs` of 0, it waits no longer.
   */
  async stop({ drainMs = this.#drainMs }: { readonly drainMs?: number } = {}): Promise<void> {
    this.#drainMs = drainMs;
    if (drainMs === 0) this.#hurry.abort(new Error('The worker waits no longer.'));
    this.#endClaims();
    await this.#whole;
  }

  /** Claims nothing until resume(); what runs goes on. */
  pause(): void {
    if (this.#resumed) return;
    this.#resumed = new Promise((resolve) => (this.#resume = resolve));
    this.#waiting?.abort(new Error('The worker pauses.'));
  }

  resume(): void {
    this.#resumed = null;
    this.#resume();
  }

  /** The jobs that run now. */
  held(): readonly ClaimedJob[] {
    return [...this.#running.keys()].map((run) => run.job);
  }

  /** Tells the handler of one job to stop: somebody cancelled it, or it is to be given back. */
  interrupt(id: string, why: 'cancelled' | 'shutdown'): void {
    for (const run of this.#running.keys()) if (run.job.id === id) run.interrupt(why);
  }

  #endClaims(): void {
    this.#claimsEnd.abort(new Error('The worker stops.'));
    this.#waiting?.abort(new Error('The worker stops.'));
    this.#slotFreed();
    this.#resume();
  }

  async #run(): Promise<void> {
    const stopListening = await this.#listen();
    try {
      await this.#poll();
    } finally {
      this.#endClaims();
      await this.#drain();
      stopListening();
    }
  }

  async #listen(): Promise<() => void> {
    const { onTermination } = this.#platform;
    if (!this.#options.handleSignals || !onTermination) return () => {};
    return onTermination(() => void this.stop().catch(() => {}));
  }

  /** Asks for as many jobs as there are free slots, again and again. */
  async #poll(): Promise<void> {
    const { signal } = this.#claimsEnd;
    for (let failures = 0; !signal.aborted; ) {
      if (this.#resumed) {
        await this.#giveBackOpen();
        await this.#resumed;
        continue;
      }
      const free = this.#concurrency - this.#running.size;
      if (free <= 0) {
        await new Promise<void>((resolve) => (this.#slotFreed = resolve));
        continue;
      }
      const claim = this.#open.shift() ?? this.#newClaim();
      try {
        this.#start(await this.#claim(claim, free));
        failures = 0;
      } catch (error) {
        if (!isAnswer(error)) this.#open.unshift(claim);
        if (signal.aborted) return;
        if (this.#resumed) continue;
        if (isHopeless(error)) throw error;
        this.#report(error);
        await sleep(this.#platform, this.#retryMs(failures++, error), signal).catch(() => {});
      }
    }
  }

  #retryMs(failures: number, error: unknown): number {
    return this.#options.claimRetryMs?.(failures) ?? delayMs(this.#platform, failures, error);
  }

  async #claim({ claimId, askedAt }: OpenClaim, max: number): Promise<Claims> {
    const { waitMs = WAIT_MS } = this.#options;
    this.#waiting = new AbortController();
    const options = { signal: this.#waiting.signal, retries: 0 };
    try {
      const jobs = await this.#jobs.claimNext({ ...this.#wanted(), max, waitMs, claimId }, options);
      return { jobs, askedAt };
    } finally {
      this.#waiting = null;
    }
  }

  #newClaim(): OpenClaim {
    return { claimId: this.#platform.randomId(), askedAt: this.#platform.nowMs() };
  }

  #wanted(): NextClaim {
    const { targets, types, capabilities, leaseMs } = this.#options;
    return {
      ...(targets && { targets }),
      ...(types && { types }),
      ...(capabilities && { capabilities }),
      ...(leaseMs !== undefined && { leaseMs }),
    };
  }

  /** A call that already waits for work will take it; otherwise all slots are busy and the ending one asks. */
  #takeNext(): (NextClaim & { readonly claimId: string }) | null {
    if (!this.#fuses || this.#waiting || this.#resumed || this.#claimsEnd.signal.aborted) return null;
    return { ...this.#wanted(), max: 1, claimId: this.#platform.randomId() };
  }

  #start({ jobs, askedAt }: Claims): void {
    for (const job of jobs) {
      if (this.#taken.has(job.leaseToken)) continue;
      this.#remember(job.leaseToken);
      const run = new JobRun(this.#host, job, askedAt);
      this.#running.set(run, this.#follow(run));
    }
  }

  async #follow(run: JobRun): Promise<void> {
    try {
      const next = await run.run();
      if (next && this.#claimsEnd.signal.aborted) await this.#giveBack(next.jobs);
      else if (next) this.#start(next);
    } catch (error) {
      this.#report(error, run.job);
    } finally {
      this.#running.delete(run);
      if (this.#running.size === 0) this.#tellIdle();
      this.#slotFreed();
    }
  }

  #tellIdle(): void {
    try {
      this.#options.onIdle?.();
    } catch (error) {
      this.#report(error);
    }
  }

  #remember(leaseToken: string): void {
    keep(this.#taken, leaseToken);
  }

  async #drain(): Promise<void> {
    const recovered = this.#giveBackOpen();
    await this.#settled(this.#drainMs, this.#hurry.signal);
    for (const run of this.#running.keys()) run.interrupt('shutdown');
    const { graceMs = GRACE_MS } = this.#options;
    if (this.#running.size > 0) await this.#settled(graceMs);
    const limit = new AbortController();
    const cancel = this.#platform.after(GIVE_BACK_LIMIT_MS, () => limit.abort(new Error('Too late.')));
    await Promise.all([...this.#running.keys()].map((run) => run.abandon(limit.signal)));
    await recovered;
    cancel();
  }

  /** Resolves when all runs have ended, or after the time, or when nobody waits any longer. */
  async #settled(limitMs: number, hurry?: AbortSignal): Promise<void> {
    const over = new AbortController();
    const all = Promise.all(this.#running.values()).then(() => over.abort(new Error('Done.')));
    const signal = hurry ? AbortSignal.any([over.signal, hurry]) : over.signal;
    await Promise.race([all, sleep(this.#platform, limitMs, signal).catch(() => {})]);
  }

  /** The server may have handed out jobs in answers that never came. */
  async #giveBackOpen(): Promise<void> {
    const options = { retries: 0, timeoutMs: GIVE_BACK_LIMIT_MS };
    for (const { claimId } of this.#open.splice(0)) {
      // No type has this name, so nothing new is claimed.
      const again = { ...this.#wanted(), types: [claimId], max: this.#concurrency, claimId };
      const jobs = await this.#jobs.claimNext(again, options).catch(() => []);
      await this.#giveBack(jobs.filter(({ leaseToken }) => !this.#taken.has(leaseToken)));
    }
  }

  async #giveBack(jobs: readonly ClaimedJob[]): Promise<void> {
    const end = { reason: 'The worker shut down before it began.' };
    await Promise.all(
      jobs.map((job) =>
        this.#jobs
          .release(job, end, { timeoutMs: GIVE_BACK_LIMIT_MS, retries: 1 })
          .catch((error: unknown) => this.#report(error, job)),
      ),
    );
  }

  /** One that comes again, because nobody could tell the server that it came, is heard once. */
  #hear(message: AgentMessage, job: ClaimedJob): void {
    if (this.#heard.has(message.id)) return;
    keep(this.#heard, message.id);
    try {
      this.#options.onMessage?.(message, job);
    } catch (error) {
      this.#report(error, job);
    }
  }

  #report(error: unknown, job?: ClaimedJob): void {
    const { onError = printed } = this.#options;
    try {
      onError(error, job);
    } catch (problem) {
      // Whoever listens must not be able to stop the work.
      printed(problem, job);
    }
  }
}

/** Where handlers are given by type, only jobs that have one are wanted. */
function wantedOf<T, K extends TypeName<T>>({ handler, ...options }: WorkerOptions<T, K>): Settings {
  if (typeof handler === 'function') return options;
  return { types: Object.keys(handler), ...options };
}

function handlerOf<T, K extends TypeName<T>>(handler: WorkerOptions<T, K>['handler']): Handler {
  // The compiler has seen that jobs and handlers fit; from here on a job is any job.
  if (typeof handler === 'function') return handler as unknown as Handler;
  const byType = new Map(Object.entries(handler as unknown as Readonly<Record<string, Handler>>));
  return (job, context) => {
    const one = byType.get(job.type ?? '');
    if (one === undefined)
      throw new NonRetryableError(`This worker has no handler for the type ${job.type}.`);
    return one(job, context);
  };
}

function keep(remembered: Set<string>, id: string): void {
  remembered.add(id);
  const [oldest] = remembered;
  if (remembered.size > REMEMBERED && oldest !== undefined) remembered.delete(oldest);
}

/** The server answered: whatever was asked for, nothing was claimed. */
function isAnswer(error: unknown): boolean {
  return error instanceof SpineApiError && error.status < 500;
}

const HOPELESS = new Set(['unauthorized', 'wrong_role', 'forbidden', 'bad_request', 'bad_host']);

function isHopeless(error: unknown): boolean {
  return error instanceof SpineApiError && HOPELESS.has(error.code);
}

function printed(error: unknown, job?: ClaimedJob): void {
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  console.error(job ? `Spine worker, job ${job.id}: ${what}` : `Spine worker: ${what}`);
}
