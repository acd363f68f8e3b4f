/** One shape for all background work: bounded passes, never two at once, a clean stop, and a record of the last pass. */

import { SpineError } from '../domain/error.ts';
import type { Clock } from '../domain/ports.ts';

export interface Pass {
  /** How many things this pass moved. */
  readonly done: number;
  /** There is more to do right away. */
  readonly more: boolean;
  /** How long until there will be work, if it is known. Not a moment: the store's clock may differ from ours. */
  readonly nextInMs?: number | null;
}

export interface Duty {
  readonly name: string;
  /** Polling is the truth: a pass at least this often, whatever the hints say. */
  readonly everyMs: number;
  runOnce(): Promise<Pass>;
}

export interface LoopStatus {
  readonly name: string;
  readonly everyMs: number;
  readonly runs: number;
  readonly lastRunAt: number | null;
  readonly lastDurationMs: number | null;
  readonly lastError: string | null;
  /** The refusal's code, where it was one. */
  readonly lastErrorCode: string | null;
  /** How many passes have failed. */
  readonly errors: number;
}

const BACKOFF_MS = 1_000;
const BACKOFF_CEILING_MS = 30_000;
/** A store that is away is no fault of the pass: it goes on as soon as the store is back. */
const AWAY_MS = 1_000;

const AWAY: ReadonlySet<string> = new Set(['store_unavailable', 'outcome_unknown', 'disk_full']);

export class Loop {
  readonly #duty: Duty;
  readonly #clock: Clock;
  readonly #onError: (name: string, error: unknown) => void;
  #cancelTimer: () => void = () => undefined;
  #pass: Promise<void> | null = null;
  #wokenMeanwhile = false;
  #stopped = true;
  #failures = 0;
  #runs = 0;
  #lastRunAt: number | null = null;
  #lastDurationMs: number | null = null;
  #lastError: string | null = null;
  #lastErrorCode: string | null = null;
  #errors = 0;

  constructor(duty: Duty, clock: Clock, onError: (name: string, error: unknown) => void) {
    this.#duty = duty;
    this.#clock = clock;
    this.#onError = onError;
  }

  get name(): string {
    return this.#duty.name;
  }

  start(): void {
    this.#stopped = false;
    this.wake();
  }

  /** Runs a pass soon; while one is under way, another follows it. */
  wake(): void {
    if (this.#stopped) return;
    if (this.#pass !== null) {
      this.#wokenMeanwhile = true;
      return;
    }
    this.#cancelTimer();
    this.#pass = this.#run();
  }

  /** Resolves when the pass under way has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer();
    await this.#pass;
  }

  status(): LoopStatus {
    return {
      name: this.#duty.name,
      everyMs: this.#duty.everyMs,
      runs: this.#runs,
      lastRunAt: this.#lastRunAt,
      lastDurationMs: this.#lastDurationMs,
      lastError: this.#lastError,
      lastErrorCode: this.#lastErrorCode,
      errors: this.#errors,
    };
  }

  async #run(): Promise<void> {
    const startedAt = this.#clock.now();
    let waitMs: number;
    try {
      const pass = await this.#duty.runOnce();
      this.#failures = 0;
      this.#lastError = null;
      this.#lastErrorCode = null;
      waitMs = this.#pause(pass);
    } catch (error) {
      waitMs = this.#failed(error);
    }
    this.#runs += 1;
    this.#lastRunAt = startedAt;
    this.#lastDurationMs = this.#clock.now() - startedAt;
    this.#pass = null;
    this.#next(waitMs);
  }

  #failed(error: unknown): number {
    const text = error instanceof Error ? error.message : String(error);
    const code = error instanceof SpineError ? error.code : null;
    const isAway = code !== null && AWAY.has(code);
    // Every loop meets the same outage every second; each tells of it once.
    if (!isAway || this.#lastError !== text) this.#onError(this.#duty.name, error);
    this.#errors += 1;
    this.#lastError = text;
    this.#lastErrorCode = code;
    this.#failures = isAway ? 0 : this.#failures + 1;
    this.#wokenMeanwhile = false;
    return isAway ? AWAY_MS : Math.min(BACKOFF_MS * 2 ** (this.#failures - 1), BACKOFF_CEILING_MS);
  }

  #pause(pass: Pass): number {
    if (pass.more) return 0;
    return Math.max(0, Math.min(this.#duty.everyMs, pass.nextInMs ?? Infinity));
  }

  #next(waitMs: number): void {
    if (this.#stopped) return;
    const delayMs = this.#wokenMeanwhile ? 0 : waitMs;
    this.#wokenMeanwhile = false;
    this.#cancelTimer = this.#clock.after(delayMs, () => this.wake());
  }
}
