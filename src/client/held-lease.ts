/**
 * The lease of one running job, as its holder may count on it. Every renewal counts from the moment it was
 * asked for, on this machine's own clock, so the lease is believed to end no later than the server ends it.
 */

import { JobInterrupted, type Interruption, SpineApiError } from './errors.ts';
import type { Jobs } from './jobs.ts';
import { LeaseMail } from './lease-mail.ts';
import type { AgentMessage } from './message-types.ts';
import { type Platform, sleep } from './platform.ts';
import { backoffMs } from './retry.ts';
import type { Beat, ClaimedJob, Job } from './types.ts';

export interface LeaseHost {
  readonly platform: Platform;
  readonly jobs: Pick<Jobs, 'heartbeat'>;
  readonly report: (error: unknown, job: ClaimedJob) => void;
  /** The handler says when the job's time begins, and its holder ends the job when it is over; the server does not. */
  readonly keepsTime?: boolean;
  /** Hears every message, also when no handler listens. */
  readonly onMessage?: (message: AgentMessage, job: ClaimedJob) => void;
}

/** A handler gets this much of its lease to stop before somebody else may begin. */
const MARGIN_SHARE = 0.1;
const LONGEST_MARGIN_MS = 5_000;
/** Progress that is reported more often is sent with the next beat. */
const PROGRESS_EVERY_MS = 1_000;
const SHORTEST_BEAT_LIMIT_MS = 50;

interface LongerLease {
  readonly leaseMs: number;
  readonly granted: () => void;
  readonly refused: (reason: unknown) => void;
}

export class HeldLease {
  readonly #host: LeaseHost;
  readonly #job: ClaimedJob;
  readonly #handler = new AbortController();
  readonly #over = new AbortController();
  #renewedAt: number;
  #grantedMs: number;
  /** What the server's clock said when the lease was renewed last. */
  #renewedThere: number;
  #failures = 0;
  #progress: unknown;
  /** Those that came before anybody listened. */
  readonly #messages: AgentMessage[] = [];
  #onMessage: ((message: AgentMessage) => void) | null = null;
  readonly #mail: LeaseMail;
  /** Longer leases that the handler has asked for. */
  #asked: LongerLease[] = [];
  #sending = false;
  #settling = false;
  #timed = false;
  #stopped = false;
  #beatsEnded = false;
  #cancelFence = (): void => {};
  #cancelBeat = (): void => {};
  #cancelTimeout = (): void => {};

  /** `askedAt` is when the claim was first sent. The server made it later, if anything. */
  constructor(host: LeaseHost, job: ClaimedJob, askedAt: number) {
    this.#host = host;
    this.#job = job;
    this.#renewedAt = askedAt;
    this.#renewedThere = Date.parse(job.updatedAt);
    this.#grantedMs = grantedMs(job);
    const { messages = [] } = job;
    this.#mail = new LeaseMail(messages);
    this.#arrive(messages);
  }

  /** What the server's clock says now, or a little later than that: the way there and back counts as time. */
  serverNow(): number {
    return this.#renewedThere + (this.#host.platform.nowMs() - this.#renewedAt);
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
    const { platform } = this.#host;
    if (platform.nowMs() >= this.#beatAt()) {
      // The lease began before this moment, so it cannot last longer than this.
      this.#renewedThere = this.serverNow();
      this.#renewedAt = platform.nowMs();
      this.#grantedMs = Math.max(this.#grantedMs, this.#job.leaseMs);
      this.#armFence();
      if (!(await this.#confirm())) return false;
    }
    this.#armFence();
    if (!this.#host.keepsTime) this.#armTimeout(() => this.#lose('timeout'));
    this.#planBeat();
    return true;
  }

  /** The work itself begins now: what it waited for before does not count. */
  startTime(): void {
    if (!this.#host.keepsTime || this.#timed || this.#stopped || this.#settling) return;
    this.#timed = true;
    this.#armTimeout(() => this.interrupt('timeout'));
  }

  progress(value: unknown): void {
    if (value === undefined || this.#stopped || this.#settling) return;
    this.#progress = value;
    // A beat that is on its way, or tried again soon, takes it along or is followed by one that does.
    if (!this.#sending && this.#failures === 0) this.#planBeat();
  }

  /** A lease that lasts at least this long from now. */
  extend(leaseMs: number): Promise<void> {
    return new Promise((granted, refused) => {
      if (this.#over.signal.aborted) return refused(this.#over.signal.reason);
      this.#asked.push({ leaseMs, granted, refused });
      if (!this.#sending && this.#failures === 0) this.#planBeat();
    });
  }

  /** Hears what was sent to the holder of the job, also what came before. */
  listen(onMessage: (message: AgentMessage) => void): void {
    this.#onMessage = onMessage;
    for (const message of this.#messages.splice(0)) onMessage(message);
  }

  /** What the server must know of messages with the next call. */
  received(): { readonly received?: readonly string[] } {
    return this.#mail.received();
  }

  #arrive(messages: readonly AgentMessage[]): void {
    for (const message of messages) this.#host.onMessage?.(message, this.#job);
    this.#messages.push(...messages);
    if (this.#onMessage !== null) this.listen(this.#onMessage);
  }

  /** From here on the answer to the ending call decides, not what a heartbeat hears after it. */
  settle(): void {
    this.#settling = true;
    this.#cancelTimeout();
  }

  interrupt(why: Interruption, options?: ErrorOptions): void {
    if (!this.#handler.signal.aborted) this.#handler.abort(new JobInterrupted(why, options));
  }

  /** Ends the renewing; the lease is ended by whoever calls this, or not ours. */
  stop(): void {
    this.#stopped = true;
    this.#cancelFence();
    this.#cancelBeat();
    this.#cancelTimeout();
  }

  /** True when the server says that the job is ours; tried until it cannot be any more. */
  async #confirm(): Promise<boolean> {
    while (!this.#over.signal.aborted) {
      if (await this.#beat()) return true;
      await sleep(this.#host.platform, this.#retryInMs(), this.#over.signal).catch(() => {});
    }
    return false;
  }

  /** True when the lease was renewed. */
  async #beat(): Promise<boolean> {
    const { platform, jobs } = this.#host;
    const sentAt = platform.nowMs();
    const progress = this.#progress;
    const asked = this.#asked;
    this.#sending = true;
    try {
      const leaseMs = Math.max(...asked.map((one) => one.leaseMs));
      const beat = {
        ...(progress !== undefined && { progress }),
        ...(asked.length > 0 && { leaseMs }),
        ...this.#mail.asking(),
      };
      const job = await jobs.heartbeat(this.#job, beat, {
        signal: this.#over.signal,
        retries: 0,
        timeoutMs: Math.max(this.#grantedMs / 3, SHORTEST_BEAT_LIMIT_MS),
      });
      if (this.#progress === progress) this.#progress = undefined;
      this.#asked = this.#asked.filter((one) => !asked.includes(one));
      const { messages = [] } = job;
      this.#mail.answered(messages);
      this.#arrive(messages);
      this.#renewed(job, sentAt);
      for (const { granted } of asked) granted();
      return true;
    } catch (error) {
      this.#judge(error, progress, asked);
      return false;
    } finally {
      this.#sending = false;
    }
  }

  #renewed(job: Beat, sentAt: number): void {
    this.#failures = 0;
    if (this.#stopped) return;
    this.#renewedAt = sentAt;
    this.#renewedThere = Date.parse(job.updatedAt);
    this.#grantedMs = grantedMs(job);
    this.#armFence();
    if (job.cancelRequested) this.interrupt('cancelled');
  }

  #judge(error: unknown, progress: unknown, asked: readonly LongerLease[]): void {
    if (this.#stopped || this.#over.signal.aborted) return;
    const status = error instanceof SpineApiError ? error.status : 0;
    if (NOT_OURS.includes(status)) {
      if (this.#settling) this.#stopBeating();
      else this.#lose('lease_lost', { cause: error });
      return;
    }
    // What the server does not take must not cost the lease.
    if (UNFIT.includes(status)) {
      if (this.#progress === progress) this.#progress = undefined;
      this.#asked = this.#asked.filter((one) => !asked.includes(one));
      for (const { refused } of asked) refused(error);
    }
    if (this.#failures === 0) this.#host.report(error, this.#job);
    this.#failures += 1;
  }

  #planBeat(): void {
    this.#cancelBeat();
    if (this.#stopped || this.#beatsEnded || this.#over.signal.aborted) return;
    const { platform } = this.#host;
    const inMs = this.#failures > 0 ? this.#retryInMs() : this.#beatAt() - platform.nowMs();
    this.#cancelBeat = platform.after(Math.max(0, inMs), () => {
      void this.#beat().then(() => this.#planBeat());
    });
  }

  #stopBeating(): void {
    this.#beatsEnded = true;
    this.#cancelBeat();
  }

  #retryInMs(): number {
    return backoffMs(this.#host.platform, this.#failures, this.#grantedMs / 6);
  }

  #beatAt(): number {
    if (this.#asked.length > 0) return this.#renewedAt;
    const everyMs = this.#grantedMs / 3;
    return this.#renewedAt + (this.#progress === undefined ? everyMs : Math.min(everyMs, PROGRESS_EVERY_MS));
  }

  #fenceAt(): number {
    return this.#renewedAt + this.#grantedMs - Math.min(this.#grantedMs * MARGIN_SHARE, LONGEST_MARGIN_MS);
  }

  #armTimeout(over: () => void): void {
    const { timeoutMs } = this.#job;
    if (timeoutMs !== undefined) this.#cancelTimeout = this.#host.platform.after(timeoutMs, over);
  }

  #armFence(): void {
    this.#cancelFence();
    const { platform } = this.#host;
    this.#cancelFence = platform.after(this.#fenceAt() - platform.nowMs(), () => {
      // A very long lease outlasts the longest timer.
      if (this.isHeld()) this.#armFence();
    });
  }

  #lose(why: 'lease_lost' | 'timeout', options?: ErrorOptions): void {
    if (this.#over.signal.aborted) return;
    this.stop();
    this.interrupt(why, options);
    this.#over.abort(new JobInterrupted(why));
    for (const { refused } of this.#asked.splice(0)) refused(this.#over.signal.reason);
    this.#host.report(new JobInterrupted(why), this.#job);
  }
}

/** Another holder, no such job, or not running: whatever it is, it is not our lease any more. */
const NOT_OURS: readonly number[] = [403, 404, 409];
const UNFIT: readonly number[] = [400, 413];

/** Both times are the server's, so its clock may be wrong and the difference still right. */
function grantedMs({ leaseUntil, updatedAt }: Job): number {
  const ms = Date.parse(leaseUntil ?? '') - Date.parse(updatedAt);
  return Number.isNaN(ms) ? 0 : Math.max(0, ms);
}
