/** Takes back jobs whose holder was not heard from. */

import { loopActor } from '../domain/actor.ts';
import type { WorkerSlot } from '../domain/worker-slot.ts';
import { ALIVE, BEAT_MS, type Core } from '../engine/core.ts';
import { leftBehind } from '../engine/silent-workers.ts';
import type { Duty, Pass } from './loop.ts';
import type { EndSession } from './watchdog.ts';

const REAPER = loopActor('reaper');

const BATCH = 500;
/** A silence of two beats means that no server could take heartbeats. */
const GAP_MS = 2 * BEAT_MS;
/** How often this server looks whether it was held up, and how late a look may be: far less than a short lease. */
const LOOK_MS = 100;
const LATE_MS = 50;
const SOON_MS = 20;
/** Whoever could not be heard tries again all the time: a downtime is not waited for as long again. */
const LONGEST_ABSENCE_MS = 15_000;
/** Stalls that follow one another put the reaper off for no longer than this. */
const PATIENCE_MS = 60_000;

/**
 * A lease that ran out while nobody could be heard is not the worker's fault. After such a time, whether no server was
 * there or this one stood still, nothing is reaped for as long as it lasted, within bounds, so that holders are heard
 * first.
 */
export class Reaper implements Duty {
  readonly name = 'reaper';
  readonly everyMs: number;
  readonly #core: Core;
  readonly #endSession: EndSession;
  #pulseAt = -Infinity;
  #lookedAt: number | null = null;
  /** Nothing is reaped before these: no server was there, or this one stood still. */
  #absentUntil = 0;
  #stalledUntil = 0;
  /** Since when stalls have put off a pass. */
  #putOffAt: number | null = null;
  /** Jobs whose lease has ended and whose worker left a session: whether that is over. No more than there are slots. */
  readonly #sessions = new Map<string, 'ending' | 'over'>();

  constructor(core: Core, everyMs: number, endSession: EndSession = async () => undefined) {
    this.#core = core;
    this.everyMs = everyMs;
    this.#endSession = endSession;
  }

  async runOnce(): Promise<Pass> {
    const now = this.#core.now();
    const waitMs = this.absenceMs(now) || this.#stallMs(now);
    if (waitMs > 0) return { done: 0, more: false, nextInMs: waitMs };
    const limit = BATCH + this.#sessions.size;
    const expired = await this.#core.store.read.leases.expired(now, limit);
    // Heartbeats that are here already are decided before any lease is judged.
    if (expired.length > 0) await this.#core.flusher.heard();
    // A database that took so long may have kept others waiting who are not here yet.
    const tookMs = this.#core.now() - now;
    if (tookMs > LATE_MS) this.#stalled(tookMs);
    const putOffMs = this.#stallMs(this.#core.now());
    if (putOffMs > 0) return { done: 0, more: false, nextInMs: putOffMs };
    this.#putOffAt = null;
    const done = await this.#takeBack(expired);
    const more = expired.length === limit;
    return this.#sessions.size === 0 ? { done, more } : { done, more, nextInMs: SOON_MS };
  }

  /** Where a worker may have left a session at work, that is ended first, while everybody else goes on. */
  async #takeBack(ids: readonly string[]): Promise<number> {
    // Those that are not here any more were heard from, or taken back by somebody else.
    const here = new Set(ids);
    for (const [id, how] of this.#sessions) if (how === 'over' && !here.has(id)) this.#sessions.delete(id);
    if (ids.length === 0) return 0;
    const left = await leftBehind(this.#core, ids);
    for (const slot of left) this.#end(slot);
    const back = ids.filter((id) => this.#sessions.get(id) !== 'ending');
    await this.#expire(back);
    for (const id of back) this.#sessions.delete(id);
    return back.length;
  }

  /** It settles in bounded time, and the next passes see that it has. */
  #end(slot: WorkerSlot): void {
    const { jobId } = slot;
    if (jobId === null || this.#sessions.has(jobId)) return;
    this.#sessions.set(jobId, 'ending');
    void this.#endSession(slot).finally(() => this.#sessions.set(jobId, 'over'));
  }

  async #expire(ids: readonly string[]): Promise<void> {
    await Promise.all(ids.map((id) => this.#core.perform({ kind: 'expire', id, actor: REAPER })));
  }

  /** Says that this server is alive, and notices when nobody was for a while. */
  pulse(): Duty {
    return {
      name: 'pulse',
      everyMs: BEAT_MS,
      runOnce: async () => {
        const now = this.#core.now();
        const lastBeat = await this.#core.flusher.transact(REAPER, async (tx) => {
          if (this.#core.store.dialect === 'postgres')
            await tx.servers.beat(this.#core.server, now, this.#core.gatewaysHere());
          return tx.servers.beat(ALIVE, now);
        });
        const gapMs = lastBeat === null ? 0 : now - lastBeat;
        const hasJustStarted = this.#pulseAt === -Infinity;
        this.#pulseAt = now;
        if (gapMs > GAP_MS || hasJustStarted)
          this.#absentUntil = now + Math.min(gapMs, this.#core.settings.leaseMs, LONGEST_ABSENCE_MS);
        await this.#afterStep(now);
        return { done: 1, more: false };
      },
    };
  }

  /**
   * Leases that lapsed because the clock was set forward get their own length again. Holders do not know of the
   * step and are heard when their next heartbeat is due.
   */
  async #afterStep(now: number): Promise<void> {
    const stepMs = this.#core.takeStepMs();
    if (stepMs === 0) return;
    const longestMs = await this.#core.store.read.leases.longestLapsedMs(now);
    this.#absentUntil = Math.max(this.#absentUntil, now + Math.min(stepMs, longestMs));
  }

  /** Notices when this server stood still: its process, its event loop or its machine. */
  watch(): Duty {
    return {
      name: 'watch',
      everyMs: LOOK_MS,
      runOnce: async () => {
        const now = this.#core.now();
        const lateMs = this.#lateMs(now);
        this.#lookedAt = now;
        if (lateMs > LATE_MS) this.#stalled(lateMs);
        return { done: 1, more: false };
      },
    };
  }

  /** How late the next look of the watch is. */
  #lateMs(now: number): number {
    return this.#lookedAt === null ? 0 : now - this.#lookedAt - LOOK_MS;
  }

  #stalled(ms: number): void {
    const until = this.#core.now() + Math.min(ms, this.#core.settings.leaseMs);
    this.#stalledUntil = Math.max(this.#stalledUntil, until);
  }

  /** How long nobody is judged by the clock because no server was there. Until the pulse has looked, nobody knows. */
  absenceMs(now: number): number {
    return now - this.#pulseAt > 2 * GAP_MS ? SOON_MS : Math.max(0, this.#absentUntil - now);
  }

  /** How long to wait because this server stood still. Both loops may be due at once: the other looks first. */
  #stallMs(now: number): number {
    const unseen = this.#lateMs(now) > LATE_MS ? SOON_MS : 0;
    const waitMs = Math.max(unseen, this.#stalledUntil - now);
    if (waitMs <= 0) return 0;
    this.#putOffAt ??= now;
    return now - this.#putOffAt < PATIENCE_MS ? waitMs : 0;
  }
}
