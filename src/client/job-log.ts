/** Gathers a handler's log lines and sends them in bunches. */

import { SpineApiError } from './errors.ts';
import type { Jobs } from './jobs.ts';
import type { Platform } from './platform.ts';
import type { ClaimedJob, LogLevel, NewLogLine } from './types.ts';

export interface LogHost {
  readonly platform: Platform;
  readonly jobs: Pick<Jobs, 'log'>;
  readonly report: (error: unknown, job: ClaimedJob) => void;
}

const SEND_AFTER_MS = 1_000;
/** The server's limits for lines, and enough of them for one call. */
const LINES_PER_CALL = 1_000;
const LINE_CHARS = 16_384;
const CHARS_PER_CALL = 200_000;
/** While the server is away this many lines wait; older ones make room. */
const WAITING_LINES = 5_000;
const LAST_CALL_LIMIT_MS = 5_000;

export class JobLog {
  readonly #host: LogHost;
  readonly #job: ClaimedJob;
  #lines: NewLogLine[] = [];
  #sending: Promise<void> | null = null;
  #cancel: (() => void) | null = null;
  #closed = false;
  #stopped = false;
  #failing = false;

  constructor(host: LogHost, job: ClaimedJob) {
    this.#host = host;
    this.#job = job;
  }

  add(text: string, level: LogLevel): void {
    if (this.#closed) return;
    for (const line of linesOf(text)) this.#lines.push({ text: line, level });
    if (this.#lines.length > WAITING_LINES) this.#lines.splice(0, this.#lines.length - WAITING_LINES);
    this.#plan();
  }

  /** Sends what is left, once, and takes no more. */
  async close(signal: AbortSignal): Promise<void> {
    this.#closed = true;
    this.#cancel?.();
    await this.#sending;
    while (this.#lines.length > 0 && (await this.#send(signal)));
  }

  /** Sends nothing more: the job is over, or not ours. */
  stop(): void {
    this.#closed = true;
    this.#stopped = true;
    this.#cancel?.();
    this.#lines = [];
  }

  #plan(): void {
    if (this.#cancel || this.#sending || this.#closed) return;
    this.#cancel = this.#host.platform.after(SEND_AFTER_MS, () => {
      this.#cancel = null;
      this.#sending = this.#sendSome();
    });
  }

  async #sendSome(): Promise<void> {
    await this.#send();
    this.#sending = null;
    if (this.#lines.length > 0) this.#plan();
  }

  /** Lines whose answer was lost are sent again: twice in the log is better than not at all. */
  async #send(signal?: AbortSignal): Promise<boolean> {
    const lines = this.#lines.splice(0, bunchOf(this.#lines));
    try {
      await this.#host.jobs.log(this.#job, lines, { signal, retries: 0, timeoutMs: LAST_CALL_LIMIT_MS });
      this.#failing = false;
      return true;
    } catch (error) {
      const status = error instanceof SpineApiError ? error.status : 0;
      if (!REFUSED.includes(status)) this.#lines.unshift(...lines);
      // One word about one outage; of a lost lease the heartbeat tells.
      const isNews = !this.#failing && !NOT_OURS.includes(status) && !this.#stopped && !signal?.aborted;
      if (isNews) this.#host.report(error, this.#job);
      this.#failing = true;
      return false;
    }
  }
}

const NOT_OURS: readonly number[] = [403, 404, 409];
/** The same lines would be refused again. */
const REFUSED: readonly number[] = [400, 413, ...NOT_OURS];

/** How many of the lines fit into one call; at least one. */
function bunchOf(lines: readonly NewLogLine[]): number {
  let chars = 0;
  const tooMuch = lines.findIndex(({ text }, at) => {
    chars += text.length;
    return at > 0 && (at === LINES_PER_CALL || chars > CHARS_PER_CALL);
  });
  return tooMuch === -1 ? lines.length : tooMuch;
}

/** One line each, as the server takes them: no NUL, no half characters, none empty or too long. */
function linesOf(text: string): string[] {
  return text
    .replaceAll('\0', '')
    .toWellFormed()
    .split(/\r?\n/)
    .filter((line) => line !== '')
    .map((line) => (line.length > LINE_CHARS ? `${line.slice(0, LINE_CHARS - 1).toWellFormed()}…` : line));
}
