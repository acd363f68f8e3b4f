/** Asks the probes of schedules whose ticks are due; a slow one holds up no other, and no tick without a probe. */

import type { ProbeAnswer } from '../domain/probe.ts';
import { unsure } from '../domain/probe.ts';
import type { Core } from '../engine/core.ts';
import { type DueProbe, settleProbe, takeProbes } from '../engine/probing.ts';
import type { Duty, Pass } from './loop.ts';

const POLL_MS = 5_000;
/** How many are asked at a time. */
const AT_ONCE = 10;

/** Asks a command or a URL; never later than the time that it has. */
export type AskProbe = (probe: string, timeoutMs: number, signal: AbortSignal) => Promise<ProbeAnswer>;

export class Prober implements Duty {
  readonly name = 'prober';
  readonly everyMs = POLL_MS;
  readonly #core: Core;
  readonly #ask: AskProbe;
  readonly #asking = new Set<Promise<void>>();
  readonly #stopping = new AbortController();

  constructor(core: Core, ask: AskProbe) {
    this.#core = core;
    this.#ask = ask;
  }

  /** Begins what is due, and does not wait for it. */
  async runOnce(): Promise<Pass> {
    const room = AT_ONCE - this.#asking.size;
    const nextAt = await this.#core.store.read.ticks.nextProbeAt();
    if (room === 0 || nextAt === null) return { done: 0, more: false };
    const inMs = nextAt - this.#core.now();
    if (inMs > 0) return { done: 0, more: false, nextInMs: inMs };
    const due = await takeProbes(this.#core, room);
    for (const each of due) this.#begin(each);
    return { done: due.length, more: due.length > 0 && this.#asking.size < AT_ONCE };
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
    const asking = this.#answer(due)
      // Nothing was written down: the tick comes up again when its time has run out.
      .catch(() => undefined)
      .finally(() => {
        this.#asking.delete(asking);
        this.#core.hints.probing();
      });
    this.#asking.add(asking);
  }

  async #answer({ tick, schedule }: DueProbe): Promise<void> {
    const probe = schedule?.spec.probe ?? null;
    const timeoutMs = (schedule?.spec.probeTimeoutS ?? 0) * 1_000;
    const { signal } = this.#stopping;
    const answer =
      probe === null ? unsure('there is none any more') : await this.#ask(probe, timeoutMs, signal);
    if (!signal.aborted) await settleProbe(this.#core, tick, answer);
  }
}
