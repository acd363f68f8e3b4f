/**
 * Schedules have no events, and there may be thousands of them. So they are looked at a page at a time, in rounds that
 * begin every few seconds, unless none has changed, and only what differs from the last time is told.
 */

import { createHash } from 'node:crypto';
import type { Clock } from '../domain/ports.ts';
import type { Schedule, ScheduleMark, ScheduleStamp } from '../domain/schedule.ts';
import type { Reads } from '../store/store.ts';

export interface ScheduleRoundsOptions {
  readonly read: Pick<Reads, 'schedules'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly pageSize: number;
  /** One text for each schedule; a new text is a change. */
  readonly print: (schedules: readonly Schedule[]) => readonly string[] | Promise<readonly string[]>;
}

export interface ScheduleStep {
  readonly changed: readonly { readonly id: string; readonly text: string }[];
  readonly gone: readonly string[];
  /** Every schedule there is, at the end of the first round: whatever else was written earlier is gone. */
  readonly all: readonly string[] | null;
  /** Where the next step of this round begins; null after the last. */
  readonly nextNo: number | null;
  readonly seen: readonly string[];
  readonly known: ReadonlyMap<string, Known>;
}

/** What was told of a schedule: a hash, because the texts themselves would be megabytes. */
interface Known {
  readonly stamp: string;
  readonly hash: string;
}

const LOOK_EVERY_MS = 5_000;
/** A second change within the same millisecond leaves no trace in the stamp, so fresh ones are looked at twice. */
const FRESH_MS = 1_000;
/** From this part of a page on, all of it is read at once. */
const MANY = 0.25;

export class ScheduleRounds {
  readonly #options: ScheduleRoundsOptions;
  readonly #told = new Map<string, Known>();
  #before = Number.NEGATIVE_INFINITY;
  #startedAt = Number.NEGATIVE_INFINITY;
  #fromNo: number | null = null;
  #seen = new Set<string>();
  #isFirst = true;
  /** As all schedules together were when the last look began. */
  #mark: ScheduleMark | null = null;

  constructor(options: ScheduleRoundsOptions) {
    this.#options = options;
  }

  get underWay(): boolean {
    return this.#fromNo !== null;
  }

  /** The next look begins a round, however short ago the last one was. */
  hurry(): void {
    this.#startedAt = Number.NEGATIVE_INFINITY;
  }

  /** Null when it is too early for a look. */
  async next(): Promise<ScheduleStep | null> {
    const { read, clock, pageSize, print } = this.#options;
    const now = clock.now();
    if (this.#fromNo === null) {
      if (now - this.#startedAt < LOOK_EVERY_MS) return null;
      const mark = await read.schedules.mark();
      const changed = this.#hasChanged(mark);
      this.#mark = mark;
      if (!changed) {
        this.#startedAt = now;
        return null;
      }
      this.#before = this.#startedAt;
      this.#startedAt = now;
      this.#fromNo = 0;
      this.#seen = new Set();
    }
    const page = await read.schedules.stamps({ afterNo: this.#fromNo, limit: pageSize });
    const suspects = page.filter((stamp) => this.#mayHaveChanged(stamp));
    const stamps = new Map(suspects.map(({ id, stamp }) => [id, stamp]));
    const schedules = await this.#readSome(page, suspects);
    const texts = await print(schedules);
    const changed: { id: string; text: string }[] = [];
    const known = new Map<string, Known>();
    for (const [i, { id }] of schedules.entries()) {
      const text = texts[i] ?? '';
      const hash = hashOf(text);
      if (this.#told.get(id)?.hash !== hash) changed.push({ id, text });
      known.set(id, { stamp: stamps.get(id) ?? '', hash });
    }
    const isLast = page.length < pageSize;
    const seen = page.map(({ id }) => id);
    const all = isLast ? new Set([...this.#seen, ...seen]) : null;
    return {
      changed,
      gone: all === null ? [] : [...this.#told.keys()].filter((id) => !all.has(id)),
      all: this.#isFirst && all !== null ? [...all] : null,
      nextNo: isLast ? null : (page.at(-1)?.no ?? null),
      seen,
      known,
    };
  }

  /** What the step told is on the disk. A step that failed comes again. */
  done({ known, gone, nextNo, seen }: ScheduleStep): void {
    for (const [id, told] of known) this.#told.set(id, told);
    for (const id of gone) this.#told.delete(id);
    for (const id of seen) this.#seen.add(id);
    this.#fromNo = nextNo;
    if (nextNo === null) this.#isFirst = false;
  }

  /** What changed shortly before the last look may have changed once more in the same millisecond. */
  #hasChanged({ count, lastNo, changedAt }: ScheduleMark): boolean {
    const last = this.#mark;
    if (last === null || this.#isFirst || changedAt >= this.#startedAt - FRESH_MS) return true;
    return count !== last.count || lastNo !== last.lastNo || changedAt !== last.changedAt;
  }

  #mayHaveChanged({ id, stamp, updatedAt }: ScheduleStamp): boolean {
    return this.#told.get(id)?.stamp !== stamp || updatedAt >= this.#before - FRESH_MS;
  }

  async #readSome(
    page: readonly ScheduleStamp[],
    wanted: readonly ScheduleStamp[],
  ): Promise<readonly Schedule[]> {
    const { read } = this.#options;
    const from = (no: number): number => no - 1;
    const [first] = page;
    const ids = new Set(wanted.map(({ id }) => id));
    const found: Schedule[] = [];
    if (first !== undefined && wanted.length >= MANY * page.length)
      found.push(...(await read.schedules.list({ afterNo: from(first.no), limit: page.length })));
    else
      for (const { no } of wanted)
        found.push(...(await read.schedules.list({ afterNo: from(no), limit: 1 })));
    return found.filter(({ id }) => ids.has(id));
  }
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}
