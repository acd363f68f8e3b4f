/** Forgets finished jobs after the retention time, with everything that hangs on them. Never anything unfinished or referred to. */

import { loopActor } from '../domain/actor.ts';
import { FINAL_STATES, isFinal, type Job, SETTLED, type State } from '../domain/job.ts';
import { TALLY_KEPT_MS } from '../domain/tally.ts';
import type { Core } from '../engine/core.ts';
import type { Duty, Pass } from './loop.ts';

const PRUNER = loopActor('pruner');

const WINDOW = 500;
/** Counts that come to nothing: each of a target and a state may have a row for every lane. */
const EMPTY_COUNTS = 50;
/** Who did what is kept longer than what was done. */
const AUDIT_MS = 365 * 24 * 3_600_000;
/** Sums by type are small, and looked back at. */
const USAGE_MS = 400 * 24 * 3_600_000;
const IDEMPOTENCY_MS = 24 * 3_600_000;
/** Of messages, what has arrived but was not read, and reports. */
const BRIEF_MS = 3 * 24 * 3_600_000;

export interface PrunerOptions {
  readonly everyMs: number;
  /** 0 keeps everything for ever. */
  readonly retentionMs: number;
  /** Called with the ids before their rows go, e.g. to remove their files. */
  readonly forget: (ids: readonly string[]) => Promise<void>;
}

export class Pruner implements Duty {
  readonly name = 'pruner';
  readonly everyMs: number;
  readonly #core: Core;
  readonly #options: PrunerOptions;
  #state = 0;
  #afterNo = 0;

  constructor(core: Core, options: PrunerOptions) {
    this.#core = core;
    this.everyMs = options.everyMs;
    this.#options = options;
  }

  async runOnce(): Promise<Pass> {
    const now = this.#core.now();
    const swept = await this.#core.flusher.transact(
      PRUNER,
      async (tx) =>
        (await tx.idempotency.dropOld(now - IDEMPOTENCY_MS, WINDOW)) +
        (await tx.pools.dropFreeKeySlots(WINDOW)) +
        (await tx.audit.dropOld(now - AUDIT_MS, WINDOW)) +
        (await tx.usage.dropOld(now - USAGE_MS)) +
        (await tx.tallies.dropOld(now - TALLY_KEPT_MS)) +
        (await tx.users.dropEndedRefreshTokens(now, WINDOW)) +
        (this.#options.retentionMs === 0
          ? 0
          : (await tx.feed.dropEmpty(now - this.#options.retentionMs, WINDOW)) +
            (await tx.ticks.dropOld(now - this.#options.retentionMs, WINDOW)) +
            (await tx.workers.dropOld(now - this.#options.retentionMs)) +
            (await tx.bulks.dropOld(now - this.#options.retentionMs)) +
            (await tx.messages.dropOld(this.#keeping(now), WINDOW)) +
            (await tx.agents.dropSilent(now - this.#options.retentionMs, WINDOW)) +
            (await tx.deliveries.dropOld(now - this.#options.retentionMs, WINDOW)) +
            (await tx.verdicts.dropOld(now - this.#options.retentionMs, WINDOW)) +
            (await tx.modelCalls.dropOld(now - this.#options.retentionMs, WINDOW)) +
            (await tx.outbox.dropOld(now - this.#options.retentionMs, WINDOW))),
    );
    // Apart: it must not hold rows of others while it locks these.
    const empty = await this.#core.flusher.transact(PRUNER, async (tx) =>
      tx.counters.dropEmpty(EMPTY_COUNTS),
    );
    const isMore = swept >= WINDOW || empty === EMPTY_COUNTS;
    if (this.#options.retentionMs === 0) return { done: swept + empty, more: isMore };
    const pruned = await this.#pruneWindow(now - this.#options.retentionMs);
    return { done: swept + empty + pruned.done, more: isMore || pruned.more };
  }

  #keeping(now: number): { readonly brief: number; readonly before: number; readonly now: number } {
    const { retentionMs } = this.#options;
    return { brief: now - Math.min(retentionMs, BRIEF_MS), before: now - retentionMs, now };
  }

  /** One window of one final state a pass; the place is kept, so that every job comes up in time. */
  async #pruneWindow(before: number): Promise<Pass> {
    const state = FINAL_STATES[this.#state] as State;
    const window = await this.#core.store.read.jobs.prunable(state, before, this.#afterNo, WINDOW);
    if (window.jobs.length > 0) await this.#remove(window.jobs);
    const lastState = this.#state === FINAL_STATES.length - 1;
    this.#afterNo = window.nextNo ?? 0;
    if (window.nextNo === null) this.#state = lastState ? 0 : this.#state + 1;
    return { done: window.jobs.length, more: window.nextNo !== null || !lastState };
  }

  async #remove(jobs: readonly { no: number; id: string }[]): Promise<void> {
    // Files go first: after a crash in between the rows come up again, while orphaned files never would.
    await this.#options.forget(jobs.map((job) => job.id));
    await this.#core.flusher.transact(PRUNER, async (tx, changeSet) => {
      // Somebody may have reopened one since it was found.
      const found = await tx.jobs.lockByNo(jobs.map((job) => job.no));
      const rows = found.filter((job) => isFinal(job.state) && job.settled === SETTLED);
      for (const job of rows) changeSet.forget(job);
      await tx.jobs.remove(rows.map((job: Job) => job.no));
    });
  }
}
