/** Asks the probes of schedules whose ticks are due; a slow one holds up no other, and no tick without a probe. */

import type { ProbeAnswer } from '../domain/probe.ts';
import { unsure } from '../domain/probe.ts';
import type { Core } from '../engine/core.ts';
import { type DueProbe, giveBackProbe, probeMs, settleProbe, takeProbes } from '../engine/probing.ts';
import type { Duty, Pass } from './loop.ts';

const POLL_MS = 5_000;
/** How many are begun at a time. One that takes longer than a moment gives its place to others, and they wait for no one. */
const AT_ONCE = 10;
const A_MOMENT_MS = 3_000;
/** Those that hang, too. */
const UNDER_WAY = 100;

/** Asks a command or a URL; never later than the time that it has. */
export type AskProbe = (probe: string, timeoutMs: number, signal: AbortSignal) => Promise<ProbeAnswer>;

export class Prober implements Duty {
  readonly name = 'prober';
  readonly everyMs = POLL_MS;
  readonly #core: Core;
  readonly #ask: AskProbe;
  /** By schedule, since when. */
  readonly #since = new Map<string, number>();
  readonly #asking = new Set<Promise<void>>();
  readonly #stopping = new AbortController();

  constructor(core: Core, ask: AskProbe) {
    this.#core = core;
    this.#ask = ask;
  }

  /** Begins what is due, and does not wait for it. */
  async runOnce(): Promise<Pass> {
    const room = this.#room();
    const nextAt = await this.#core.store.read.ticks.nextProbeAt();
    if (room <= 0 || nextAt === null) return { done: 0, more: false };
    const inMs = nextAt - this.#core.now();
    if (inMs > 0) return { done: 0, more: false, nextInMs: inMs };
    const due = await takeProbes(this.#core, room, (id) => this.#since.has(id));
    for (const each of due) this.#begin(each);
    return { done: due.length, more: due.length > 0 && this.#room() > 0 };
  }

  #room(): number {
    const before = this.#core.now() - A_MOMENT_MS;
    const young = [...this.#since.values()].filter((since) => since > before).length;
    return Math.min(AT_ONCE - young, UNDER_WAY - this.#since.size);
  }

  /** Ends what is under way: it is asked again, here after the next start or elsewhere. */
  callOff(): void {
    this.#stopping.abort();
  }

  /** Resolves when nothing is under way any more. */
  async rest(): Promise<void> {
    await Promise.all(this.#asking);
  }

  #begin(due: DueProbe): void {
    const { tick } = due;
    this.#since.set(tick.scheduleId, this.#core.now());
    const asking = this.#answer(due)
      // Nothing was written down. When this fails too, the tick comes up again once its time has run out.
      .catch(() => giveBackProbe(this.#core, tick).catch(() => undefined))
      .finally(() => {
        this.#since.delete(tick.scheduleId);
        this.#asking.delete(asking);
        this.#core.hints.probing();
      });
    this.#asking.add(asking);
  }

  async #answer({ tick, schedule }: DueProbe): Promise<void> {
    const probe = schedule?.spec.probe ?? null;
    const { signal } = this.#stopping;
    const answer =
      probe === null ? unsure('there is none any more') : await this.#ask(probe, probeMs(schedule), signal);
    if (signal.aborted) await giveBackProbe(this.#core, tick);
    else await settleProbe(this.#core, tick, answer);
  }
}
