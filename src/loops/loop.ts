/** One shape for all background work: bounded passes, never two at once, a clean stop, and a record of the last pass. */

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
}

const BACKOFF_MS = 1_000;
const BACKOFF_CEILING_MS = 30_000;

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

  constructor(duty: Duty, clock: Clock, onError: (name: string, error: unknown) => void) {
    this.#duty = duty;
    this.#clock = clock;
    this.#onError = onError;
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
    };
  }

  async #run(): Promise<void> {
    const startedAt = this.#clock.now();
    let waitMs: number;
    try {
      const pass = await this.#duty.runOnce();
      this.#failures = 0;
      this.#lastError = null;
      waitMs = this.#pause(pass);
    } catch (error) {
      this.#failures += 1;
      this.#lastError = error instanceof Error ? error.message : String(error);
      this.#onError(this.#duty.name, error);
      waitMs = Math.min(BACKOFF_MS * 2 ** (this.#failures - 1), BACKOFF_CEILING_MS);
      this.#wokenMeanwhile = false;
    }
    this.#runs += 1;
    this.#lastRunAt = startedAt;
    this.#lastDurationMs = this.#clock.now() - startedAt;
    this.#pass = null;
    this.#next(waitMs);
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
