/** Types, pools, pauses and schedules have no events: they are looked at now and then, and written when they changed. */

import type { FeedEntry } from '../domain/event.ts';
import type { Clock } from '../domain/ports.ts';
import type { Schedule } from '../domain/schedule.ts';
import type { Reads } from '../store/store.ts';
import { printLine } from './journal-line.ts';
import type { ScheduleStep } from './schedule-rounds.ts';

const LOOK_EVERY_MS = 5_000;

type SettingReads = Pick<Reads, 'types' | 'pools' | 'routing'>;

export class Settings {
  readonly #read: SettingReads;
  readonly #clock: Pick<Clock, 'now'>;
  #lookedAt = Number.NEGATIVE_INFINITY;
  /** Lines by what they are about. */
  #last: ReadonlyMap<string, string> = new Map();
  #next: ReadonlyMap<string, string> = new Map();

  constructor(read: SettingReads, clock: Pick<Clock, 'now'>) {
    this.#read = read;
    this.#clock = clock;
  }

  hurry(): void {
    this.#lookedAt = Number.NEGATIVE_INFINITY;
  }

  /** The lines that say what changed. A new job may be the first of a new type, so new jobs look at once. */
  async changes(events: readonly FeedEntry[]): Promise<string> {
    const now = this.#clock.now();
    const due = now - this.#lookedAt >= LOOK_EVERY_MS;
    if (!due && !events.some((event) => event.seq === 1)) return '';
    this.#lookedAt = now;
    this.#next = await settingLines(this.#read);
    return [...this.#next].map(([about, line]) => (this.#last.get(about) === line ? '' : line)).join('');
  }

  /** What changes() answered is on the disk. */
  written(): void {
    this.#last = this.#next;
  }
}

/** What a rebuild cannot find out from elsewhere; the rest follows from the clock and the runs. */
export function scheduleLine(schedule: Schedule): string {
  const { no, id, spec, enabled, createdAt, createdBy, spawnedBy, runCount } = schedule;
  const counted = spec.maxRuns === null ? {} : { runCount };
  return printLine({ schedule: { no, id, spec, enabled, createdAt, createdBy, spawnedBy, ...counted } });
}

/** The lines of one look at the schedules. */
export function scheduleLines({ changed, gone, all }: ScheduleStep): string {
  return [
    ...changed.map(({ text }) => text),
    ...gone.map((id) => printLine({ scheduleGone: id })),
    ...(all === null ? [] : [printLine({ schedules: all })]),
  ].join('');
}

export async function settingLines(read: SettingReads): Promise<Map<string, string>> {
  const pools = (await read.pools.all()).map(({ name, capacity, perKey }) => ({ name, capacity, perKey }));
  const lines = (await read.types.all()).map((type): [string, string] => [
    `type ${type.no}`,
    printLine({ type }),
  ]);
  lines.push(['pools', printLine({ pools })]);
  lines.push(['pauses', printLine({ pauses: (await read.routing.current()).pauses })]);
  return new Map(lines);
}
