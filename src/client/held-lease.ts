/**
 * The lease of one running job, as its holder may count on it. Every renewal counts from the moment it was
 * asked for, on this machine's own clock, so the lease is believed to end no later than the server ends it.
 */

import { JobInterrupted, type Interruption, SpineApiError } from './errors.ts';
import type { Jobs } from './jobs.ts';
import type { Platform } from './platform.ts';
import { backoffMs } from './retry.ts';
import type { ClaimedJob, Job } from './types.ts';

export interface LeaseHost {
  readonly platform: Platform;
  readonly jobs: Pick<Jobs, 'heartbeat'>;
  readonly report: (error: unknown, job: ClaimedJob) => void;
}

/** A handler gets this much of its lease to stop before somebody else may begin. */
const MARGIN_SHARE = 0.1;
const LONGEST_MARGIN_MS = 5_000;
/** Progress that is reported more often is sent with the next beat. */
const PROGRESS_EVERY_MS = 1_000;
/** A lease that the answer does not explain is taken to be this short. */
const SHORTEST_LEASE_MS = 100;

export class HeldLease {
  readonly #host: LeaseHost;
  readonly #job: ClaimedJob;
  readonly #handler = new AbortController();
  readonly #over = new AbortController();
  #renewedAt: number;
  #grantedMs: number;
  #failures = 0;
  #progress: unknown;
  #sending = false;
  #settling = false;
  #stopped = false;
  #cancelFence = (): void => {};
  #cancelBeat = (): void => {};
  #cancelTimeout = (): void => {};

  /** `askedAt` is when the claim was first sent. The server made it later, if anything. */
  constructor(host: LeaseHost, job: ClaimedJob, askedAt: number) {
    this.#host = host;
    this.#job = job;
    this.#renewedAt = askedAt;
    this.#grantedMs = grantedMs(job);
  }

  /** For the handler: aborts when it must stop, with a JobInterrupted as its reason. */
  get signal(): AbortSignal {
    return this.#handler.signal;
  }

  /** Aborts when nothing may be sent under this lease any more. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  get interruption(): Interruption | null {
    const reason: unknown = this.#handler.signal.reason;
    return reason instanceof JobInterrupted ? reason.why : null;
  }

  /** Asks the clock too: a process that was frozen comes back before its timers do. */
  isHeld(): boolean {
    if (!this.#over.signal.aborted && this.#host.platform.nowMs() >= this.#fenceAt())
      this.#lose('lease_lost');
    return !this.#over.signal.aborted;
  }

  /**
   * Begins to renew. A job that came at the end of a long wait may be old news, so a beat that is already due
   * goes before the work; false means that the job is not ours any more.
   */
  async begin(): Promise<boolean> {
    this.#armFence();
    const isDue = this.#host.platform.nowMs() >= this.#beatAt();
    while (isDue && this.isUnconfirmed() && !this.#over.signal.aborted) await this.#confirm();
    if (this.#over.signal.aborted) return false;
    const { timeoutMs } = this.#job;
    if (timeoutMs !== undefined)
      this.#cancelTimeout = this.#host.platform.after(timeoutMs, () => this.#lose('timeout'));
    this.#planBeat();
    return true;
  }

  progress(value: unknown): void {
    if (value === undefined || this.#stopped || this.#settling) return;
    this.#progress = value;
    const beatInMs = this.#renewedAt + PROGRESS_EVERY_MS - this.#host.platform.nowMs();
    if (!this.#sending && this.#failures === 0) this.#planBeat(Math.max(0, beatInMs));
  }

  /** From here on the answer to the ending call decides, not what a heartbeat hears after it. */
  settle(): void {
    this.#settling = true;
    this.#cancelTimeout();
  }

  interrupt(why: Interruption): void {
    if (!this.#handler.signal.aborted) this.#handler.abort(new JobInterrupted(why));
  }

  /** Ends the renewing; the lease is ended by whoever calls this, or not ours. */
  stop(): void {
    this.#stopped = true;
    this.#cancelFence();
    this.#cancelBeat();
    this.#cancelTimeout();
  }
}
