/** One claimed job from its start to its end. */

import {
  AskAndWait,
  type FailureCause,
  type Interruption,
  JobFailure,
  JobInterrupted,
  NonRetryableError,
  PutOff,
  SpineApiError,
  SpineConnectionError,
} from './errors.ts';
import type { BlobContent, Blobs, UploadOptions } from './blobs.ts';
import { HeldLease } from './held-lease.ts';
import { JobLog } from './job-log.ts';
import type { Jobs } from './jobs.ts';
import { type Platform, sleep } from './platform.ts';
import type { Answer, NewQuestion } from './question-types.ts';
import { delayMs } from './retry.ts';
import type { AgentMessage } from './message-types.ts';
import type { Handler } from './typed-jobs.ts';
import type { BlobInfo, ClaimedJob, LogLevel, NextClaim } from './types.ts';

export interface JobContext {
  /** Aborts when the work must stop: cancelled, lease lost, timed out, or shutting down. */
  readonly signal: AbortSignal;
  /** Shown with the job, and sent with a heartbeat soon. */
  readonly progress: (value: unknown) => void;
  /** Adds to the job's log. */
  readonly log: (text: string, level?: LogLevel) => void;
  /** Calls back with every message that was sent to the holder of the job. They come with its claim and its heartbeats. */
  readonly onMessage: (listener: (message: AgentMessage) => void) => void;
  /** What was answered to the questions of this job, oldest first. */
  readonly answers: readonly Answer[];
  /**
   * Gives the answer, if there is one to this very question. Otherwise it throws `AskAndWait`: let that through. The job
   * is given back, this was no attempt, and the handler is called again, anywhere, when somebody has answered.
   */
  readonly ask: (question: NewQuestion) => Promise<unknown>;
  /** Keeps text or data for whoever holds the job next. Resolves when it is safe, however long the server is away. */
  readonly checkpoint: (value: unknown) => Promise<void>;
  /** What the last holder kept; null when there is nothing. */
  readonly lastCheckpoint: unknown;
  /** The results of the jobs that this one waited for, by their ids. */
  readonly inputs: Readonly<Record<string, unknown>>;
  /** Stores a file that belongs to the job. */
  readonly upload: (content: BlobContent, options?: Omit<UploadOptions, 'job'>) => Promise<BlobInfo>;
  /**
   * Asks for a lease that lasts at least this long from now, for work during which no heartbeat can be sent. Resolves when
   * the server has granted it, and rejects when the lease is lost before.
   */
  readonly needTime: (leaseMs: number) => Promise<void>;
  /** Says that the work has begun, where the job's time does not count from the claim (`keepsTime`). */
  readonly started: () => void;
  /**
   * Says that the work itself has ended the job by a call of its own: what is logged is still sent. The lease is over then and
   * tells nothing more, so this gives a signal that aborts when nobody waits any longer for what the work still does.
   */
  readonly endedItself: () => AbortSignal;
}

export interface Claims {
  readonly jobs: readonly ClaimedJob[];
  /** When they were first asked for. */
  readonly askedAt: number;
}

export interface RunHost {
  readonly platform: Platform;
  readonly jobs: Pick<Jobs, 'heartbeat' | 'finish' | 'release' | 'snooze' | 'log' | 'ask' | 'checkpoint'>;
  /** Null where the client cannot upload. */
  readonly blobs: Pick<Blobs, 'upload'> | null;
  readonly handler: Handler;
  readonly keepsTime: boolean;
  readonly onMessage?: (message: AgentMessage, job: ClaimedJob) => void;
  /** How long to wait before the call that ends a job is sent again. */
  readonly endRetryMs: (failures: number, error: unknown) => number;
  readonly report: (error: unknown, job: ClaimedJob) => void;
  /** The claim to send along with a job's end; null when nothing new is wanted. */
  readonly takeNext: () => (NextClaim & { readonly claimId: string }) | null;
  /** A claim was sent and nobody knows what became of it. */
  readonly unanswered: (claimId: string, askedAt: number) => void;
  /** The server does not take `next`. */
  readonly withoutNext: () => void;
}

const ERROR_CHARS = 8_000;
const TOO_MANY_ANSWERS =
  'This job has been given more answers than its claim can tell of, so that nobody knows whether this question is among them. Ask for shorter answers, or keep in a checkpoint what was answered and ask no more.';
/** Whoever asks for less patience than this is asked again under the same lease. */
const NOT_SOON_MS = 30_000;

type Ending =
  | { readonly verb: 'complete'; readonly result: unknown }
  | {
      readonly verb: 'fail';
      readonly error: unknown;
      readonly requeue: boolean;
      readonly cause?: FailureCause;
    }
  | { readonly verb: 'release'; readonly reason: string }
  | { readonly verb: 'snooze'; readonly untilAt: Date }
  | { readonly verb: 'ask'; readonly question: NewQuestion };

export class JobRun {
  readonly job: ClaimedJob;
  readonly #host: RunHost;
  readonly #lease: HeldLease;
  readonly #log: JobLog;
  #settling = false;
  #ended = false;
  /** What the handler has asked: whatever it does afterwards, the attempt ends with this. */
  #asked: NewQuestion | null = null;
  #endedItself = false;
  /** Aborts when the handler was told to stop from outside, its lease being over or not. */
  readonly #left = new AbortController();

  constructor(host: RunHost, job: ClaimedJob, askedAt: number) {
    this.job = job;
    this.#host = host;
    this.#lease = new HeldLease(host, job, askedAt);
    this.#log = new JobLog(host, job);
  }

  /** Never rejects. Gives the jobs that were claimed along with the end of this one. */
  async run(): Promise<Claims | null> {
    try {
      if (!(await this.#lease.begin())) return null;
      const ending = await this.#work();
      return this.#ended ? null : await this.#end(ending);
    } finally {
      this.#lease.stop();
      this.#log.stop();
    }
  }

  /** Tells the handler to stop. */
  interrupt(why: Interruption): void {
    this.#lease.interrupt(why);
    this.#left.abort(new JobInterrupted(why));
  }

  /** Gives the job back without waiting for its handler, whose result is not sent any more. */
  async abandon(signal: AbortSignal): Promise<void> {
    this.#ended = true;
    // Its end is on its way already, and would be the better one.
    if (this.#settling || !this.#lease.isHeld()) return;
    this.#lease.stop();
    this.#log.stop();
    const end = { reason: 'The worker shut down before the job was done.' };
    await this.#host.jobs.release(this.job, end, { signal }).catch((error: unknown) => {
      this.#host.report(error, this.job);
    });
  }

  async #work(): Promise<Ending> {
    const context: JobContext = {
      signal: this.#lease.signal,
      progress: (value) => this.#lease.progress(value),
      log: (text, level = 'info') => this.#log.add(text, level),
      onMessage: (listener) => this.#lease.listen(listener),
      started: () => this.#lease.startTime(),
      answers: this.job.answers ?? [],
      ask: (question) => perhapsUnheard(this.#ask(question)),
      checkpoint: (value) => this.#checkpoint(value),
      lastCheckpoint: this.job.checkpoint ?? null,
      inputs: this.job.inputs ?? {},
      upload: (content, options) => perhapsUnheard(this.#upload(content, options)),
      needTime: (leaseMs) => perhapsUnheard(this.#lease.extend(leaseMs)),
      endedItself: () => {
        this.#endedItself = true;
        return this.#left.signal;
      },
    };
    try {
      const result = await this.#host.handler(this.job, context);
      return this.#asked === null ? { verb: 'complete', result } : { verb: 'ask', question: this.#asked };
    } catch (error) {
      const why = this.#lease.interruption;
      if (why === 'cancelled') return { verb: 'release', reason: 'Stopped, as it was cancelled.' };
      if (this.#asked !== null) return { verb: 'ask', question: this.#asked };
      if (error instanceof AskAndWait) return { verb: 'ask', question: error.question };
      if (error instanceof PutOff) return this.#putOff(error);
      if (error instanceof JobFailure) return failedAs(error);
      if (why === 'shutdown') return { verb: 'release', reason: 'The worker shut down.' };
      if (why === 'timeout') return timedOut(this.job);
      if (why === null) this.#host.report(error, this.job);
      return { verb: 'fail', error: described(error), requeue: !(error instanceof NonRetryableError) };
    }
  }

  async #ask(question: NewQuestion): Promise<unknown> {
    const known = (this.job.answers ?? []).findLast((answer) => answer.question === question.question);
    if (known !== undefined) return known.answer;
    // It may have been answered long ago: whoever asks again would ask the same things for ever.
    if (this.job.answersLeftOut) throw new NonRetryableError(TOO_MANY_ANSWERS);
    this.#asked ??= question;
    throw new AskAndWait(question);
  }

  async #upload(content: BlobContent, options: Omit<UploadOptions, 'job'> = {}): Promise<BlobInfo> {
    const { blobs } = this.#host;
    if (blobs === null) throw new TypeError('The client of this worker cannot upload.');
    const { over } = this.#lease;
    const { signal = over } = options;
    return blobs.upload(content, { ...options, signal: AbortSignal.any([signal, over]), job: this.job });
  }

  async #checkpoint(value: unknown): Promise<void> {
    const checkpoint = typeof value === 'string' ? { text: value } : { data: value };
    const { jobs, platform, report } = this.#host;
    const { over } = this.#lease;
    // A server that is away for a moment is no failure of the work.
    for (let failures = 0; ; failures++) {
      try {
        await jobs.checkpoint(this.job, checkpoint, { signal: over, retries: 0 });
        return;
      } catch (error) {
        if (over.aborted || !isPassing(error)) throw error;
        if (failures === 0) report(error, this.job);
        await sleep(platform, delayMs(platform, failures, error), over);
      }
    }
  }

  #putOff({ delayMs, message }: PutOff): Ending {
    this.#log.add(`Put off: ${message}`, 'info');
    return { verb: 'snooze', untilAt: new Date(this.#lease.serverNow() + delayMs) };
  }

  /** Sends the end until it is answered or the lease is over, whichever is first. */
  async #end(ending: Ending): Promise<Claims | null> {
    if (!this.#lease.isHeld()) {
      if (this.#endedItself) await this.#log.close(new AbortController().signal);
      return null;
    }
    await this.#log.close(this.#lease.over);
    this.#lease.settle();
    this.#settling = true;
    const givesBack = ending.verb !== 'complete' && ending.verb !== 'fail';
    const next = givesBack ? null : this.#host.takeNext();
    const askedAt = this.#host.platform.nowMs();
    for (let failures = 0; this.#lease.isHeld() && !this.#ended; failures++) {
      try {
        return { jobs: await this.#send(ending, next), askedAt };
      } catch (error) {
        if (this.#lease.over.aborted || this.#ended) break;
        if (!isPassing(error) || askLaterMs(ending, error) !== null)
          return await this.#refused(ending, error);
        if (failures === 0) this.#host.report(error, this.job);
        const waitMs = this.#host.endRetryMs(failures, error);
        await sleep(this.#host.platform, waitMs, this.#lease.over).catch(() => {});
      }
    }
    if (next) this.#host.unanswered(next.claimId, askedAt);
    return null;
  }

  async #send(ending: Ending, next: NextClaim | null): Promise<readonly ClaimedJob[]> {
    const { jobs } = this.#host;
    const { job } = this;
    const options = { signal: this.#lease.over, retries: 0 };
    if (ending.verb === 'release') {
      await jobs.release(job, { reason: ending.reason, ...this.#lease.received() }, options);
      return [];
    }
    if (ending.verb === 'snooze') {
      await jobs.snooze({ ...job, ...this.#lease.received() }, ending.untilAt, options);
      return [];
    }
    if (ending.verb === 'ask') {
      await jobs.ask({ ...job, ...this.#lease.received() }, ending.question, options);
      return [];
    }
    const { verb, ...rest } = ending;
    // Whatever failed may need time to come back, so that trying at once would only use up the attempts.
    const end = { ...rest, ...(verb === 'fail' && { backoff: true }), ...this.#lease.received() };
    return await jobs.finish(job, verb, next ? { ...end, next } : end, options);
  }

  /** This end will never be taken. A result or a question that does not fit is the job's failure; a lost lease is nobody's. */
  async #refused(ending: Ending, error: unknown): Promise<Claims | null> {
    if (isAboutNext(error)) {
      this.#host.withoutNext();
      return await this.#end(ending);
    }
    this.#host.report(error, this.job);
    const laterMs = askLaterMs(ending, error);
    if (laterMs !== null)
      return await this.#end({ verb: 'snooze', untilAt: new Date(this.#lease.serverNow() + laterMs) });
    const refused = REFUSED[ending.verb];
    if (refused === undefined || !isUnfit(error)) return null;
    const message = `${refused.words}: ${error instanceof Error ? error.message : String(error)}`;
    return await this.#end({ verb: 'fail', error: { name: refused.name, message }, requeue: false });
  }
}

/** Nobody may be waiting for it, and that must not bring the worker down. */
function perhapsUnheard<V>(answer: Promise<V>): Promise<V> {
  answer.catch(() => {});
  return answer;
}

const REFUSED: Partial<Record<Ending['verb'], { readonly name: string; readonly words: string }>> = {
  complete: { name: 'ResultRefused', words: 'The result was refused' },
  ask: { name: 'QuestionRefused', words: 'The question was refused' },
};

/** Trouble that the same call may outlive. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof SpineApiError)) return error instanceof SpineConnectionError;
  const { status } = error;
  return status === 401 || status === 408 || status === 429 || status >= 500;
}

/** There is no room for the question, and will not be soon: the job waits for it without a holder. */
function askLaterMs({ verb }: Ending, error: unknown): number | null {
  if (verb !== 'ask' || !(error instanceof SpineApiError) || error.status !== 429) return null;
  const { retryAfterMs } = error;
  return retryAfterMs !== null && retryAfterMs >= NOT_SOON_MS ? retryAfterMs : null;
}

/** Refused by the server as it is, or not even JSON: what JSON.stringify throws is no error of ours. */
function isUnfit(error: unknown): boolean {
  if (!(error instanceof SpineApiError)) return true;
  // A job that may ask no more is told so; the other conflicts are about its lease.
  return error.status === 400 || error.status === 413 || error.code === 'conflict';
}

/** A server from before `next` names it as a field that it does not know. */
function isAboutNext(error: unknown): boolean {
  if (!(error instanceof SpineApiError) || error.status !== 400) return false;
  const { field } = error.details;
  return typeof field === 'string' && /^next\b/.test(field);
}

/** In the server's words, for jobs whose holder keeps the time. */
function timedOut({ timeoutMs }: ClaimedJob): Ending {
  return { verb: 'fail', error: `Timed out after ${timeoutMs} ms.`, requeue: true, cause: 'timeout' };
}

function failedAs({ details, requeue, cause }: JobFailure): Ending {
  return { verb: 'fail', error: details, requeue, ...(cause !== null && { cause }) };
}

function described(error: unknown): object {
  if (!(error instanceof Error)) return { name: 'Error', message: clean(String(error)) };
  const { name, message, stack } = error;
  return { name: clean(name), message: clean(message), ...(stack !== undefined && { stack: clean(stack) }) };
}

function clean(text: string): string {
  return text.replaceAll('\0', '').slice(0, ERROR_CHARS).toWellFormed();
}
