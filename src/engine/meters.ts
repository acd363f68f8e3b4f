/** What this server has done since its start, counted after each commit. Nothing here is read from the database. */

import { EVENT_KINDS, type EventKind } from '../domain/event.ts';
import { Counted, type Histogram } from '../domain/histogram.ts';
import type { Effects } from './change-set.ts';
import type { Answer } from './flush.ts';

/** In seconds: from a claim at once to one after a day. */
const WAITS = [0.005, 0.05, 0.25, 1, 5, 30, 120, 600, 3_600, 21_600, 86_400];
const RUNS = [0.01, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3_600, 14_400];
const COMMIT_TIMES = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5];
const COMMIT_SIZES = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000];
/** Callers name targets as they like: further ones are counted together. */
const TARGETS = 50;
export const OTHER_TARGETS = '(others)';

interface OfTarget {
  readonly waits: Counted;
  readonly runs: Counted;
}

/** As it is shown. */
export interface Metered {
  readonly events: Readonly<Record<EventKind, number>>;
  readonly staleWrites: number;
  readonly commitSeconds: Histogram;
  readonly commitCommands: Histogram;
  readonly targets: ReadonlyMap<string, { readonly waits: Histogram; readonly runs: Histogram }>;
}

export class Meters implements Metered {
  readonly events = Object.fromEntries(EVENT_KINDS.map((kind) => [kind, 0])) as Record<EventKind, number>;
  staleWrites = 0;
  readonly commitSeconds = new Counted(COMMIT_TIMES);
  readonly commitCommands = new Counted(COMMIT_SIZES);
  readonly targets = new Map<string, OfTarget>();

  flushed(answers: readonly Answer[], tookMs: number): void {
    this.commitSeconds.add(tookMs / 1_000);
    this.commitCommands.add(answers.length);
    for (const answer of answers) if (!answer.ok && answer.code === 'lease_lost') this.staleWrites += 1;
  }

  committed({ events, changes }: Effects): void {
    for (const { kind } of events) this.events[kind] += 1;
    for (const { before, after } of changes) {
      const { startedAt } = after.startedAt === null ? before : after;
      if (startedAt === null) continue;
      const isClaimed = after.fence > before.fence;
      const hasEnded = after.state !== 'running' && (before.state === 'running' || isClaimed);
      if (!isClaimed && !hasEnded) continue;
      const { waits, runs } = this.#of(after.target);
      if (isClaimed) waits.add(Math.max(0, startedAt - (before.queuedAt ?? before.createdAt)) / 1_000);
      if (hasEnded) runs.add(Math.max(0, after.updatedAt - startedAt) / 1_000);
    }
  }

  #of(target: string): OfTarget {
    const known = this.targets.get(target);
    if (known !== undefined) return known;
    const name = this.targets.size < TARGETS ? target : OTHER_TARGETS;
    const made = this.targets.get(name) ?? { waits: new Counted(WAITS), runs: new Counted(RUNS) };
    this.targets.set(name, made);
    return made;
  }
}
