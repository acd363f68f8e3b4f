import type { Rule } from './rules.ts';

const MINUTE = 60_000;
/** Clocks change at full quarters of an hour everywhere. */
const QUARTER = 15 * MINUTE;

/** The wall clock of one zone, minute by minute, from Intl alone: it shares nothing with what it judges. */
export class WallClock {
  readonly #fromMs: number;
  readonly #offsets: Int32Array;

  constructor(zone: string, fromMs: number, untilMs: number) {
    this.#fromMs = fromMs;
    const format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    const count = Math.ceil((untilMs - fromMs) / QUARTER) + 1;
    this.#offsets = Int32Array.from({ length: count }, (_, i) => offsetAt(format, fromMs + i * QUARTER));
  }

  /** What the clock on the wall shows, as if it were UTC. */
  at(utcMs: number): number {
    return utcMs + (this.#offsets[Math.floor((utcMs - this.#fromMs) / QUARTER)] ?? 0);
  }
}

function offsetAt(format: Intl.DateTimeFormat, utcMs: number): number {
  const part = new Map(format.formatToParts(utcMs).map(({ type, value }) => [type, Number(value)]));
  const of = (type: Intl.DateTimeFormatPartTypes): number => part.get(type) ?? 0;
  const wall = Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second'));
  return wall - utcMs;
}

/**
 * Every moment at which the rule must fire, after `fromMs` up to and including `untilMs`. Walks all minutes: a named
 * time fires when the wall first shows it, or at the first minute after a gap that swallowed it; a rule for every
 * hour fires whenever its minute is shown.
 */
export function expectedTicks(rule: Rule, wall: WallClock, fromMs: number, untilMs: number): Set<number> {
  const ticks = new Set<number>();
  let shown = wall.at(fromMs);
  for (let utc = fromMs + MINUTE; utc <= untilMs; utc += MINUTE) {
    const now = wall.at(utc);
    if (rule.hours === null) {
      if (minuteOf(now) === rule.minute && fitsDay(rule, now)) ticks.add(utc);
    } else {
      // The minutes that this step uncovers for the first time: one as a rule, many after a gap, none while repeated.
      for (let each = Math.max(shown, now - 2 * 60 * MINUTE) + MINUTE; each <= now; each += MINUTE)
        if (fits(rule, each)) ticks.add(utc);
    }
    shown = Math.max(shown, now);
  }
  return ticks;
}

function fits(rule: Rule, wallMs: number): boolean {
  if (minuteOf(wallMs) !== rule.minute || !fitsDay(rule, wallMs)) return false;
  return rule.hours?.includes(Math.floor(wallMs / (60 * MINUTE)) % 24) ?? true;
}

function minuteOf(wallMs: number): number {
  return Math.floor(wallMs / MINUTE) % 60;
}

function fitsDay({ day, weekdays }: Rule, wallMs: number): boolean {
  if (day === null && weekdays === null) return true;
  const date = new Date(wallMs);
  return (day === null || date.getUTCDate() === day) && (weekdays?.includes(date.getUTCDay()) ?? true);
}
