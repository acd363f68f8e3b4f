/**
 * Wall clocks of time zones. Asked of Intl by name, so the process's own zone never matters; croner reads zones too, but
 * tells nobody where a clock is put forward or back. Each day is asked once: a question takes 8 us, and the thousand
 * ticks that are looked for at once after a long time would ask six times each.
 */

const DAY_MS = 86_400_000;
/** Zones in use, and days remembered for each; both far above what one server needs at a time. */
const KEPT_ZONES = 100;
const KEPT_DAYS = 4_000;

/** One UTC day of a zone: the offset before and from `changeAt` on. Most days do not change. */
interface Day {
  readonly before: number;
  readonly changeAt: number;
  readonly after: number;
}

interface Zone {
  readonly format: Intl.DateTimeFormat;
  readonly days: Map<number, Day>;
}

const zones = new Map<string, Zone>();

export function isZone(tz: string): boolean {
  try {
    zoneOf(tz);
    return true;
  } catch {
    return false;
  }
}

/** What the zone's clock shows at an instant, written as if it were UTC. */
export function wallAt(tz: string, instant: number): number {
  return instant + offsetAt(tz, instant);
}

/** The instants at which the zone's clock shows a time: one, both when it is put back, none when it is put forward. */
export function instantsAt(tz: string, wall: number): readonly number[] {
  const [before, after] = offsetsAround(tz, wall);
  if (before === after) return [wall - before];
  return [before, after].map((offset) => wall - offset).filter((instant) => wallAt(tz, instant) === wall);
}

/** When the clock is put forward over a time that it never shows. */
export function endOfGap(tz: string, wall: number): number {
  const [before, after] = offsetsAround(tz, wall);
  return changeBetween(tz, wall - after, wall - before);
}

/** The wall times that are shown a second time later, when the instant lies in their first showing. */
export function repeatAfter(
  tz: string,
  instant: number,
): { readonly from: number; readonly shift: number } | null {
  const wall = wallAt(tz, instant);
  const [before, after] = offsetsAround(tz, wall);
  if (before === after) return null;
  const [first, second] = instantsAt(tz, wall);
  if (first !== instant || second === undefined) return null;
  const change = changeBetween(tz, first, second);
  return { from: wallAt(tz, change), shift: offsetAt(tz, change) };
}

/** No zone is changed twice within two days. */
function offsetsAround(tz: string, wall: number): readonly [before: number, after: number] {
  return [offsetAt(tz, wall - DAY_MS), offsetAt(tz, wall + DAY_MS)];
}

export function offsetAt(tz: string, instant: number): number {
  if (tz === 'UTC') return 0;
  const zone = zoneOf(tz);
  const dayNo = Math.floor(instant / DAY_MS);
  let day = zone.days.get(dayNo);
  if (day === undefined) {
    day = readDay(zone.format, dayNo * DAY_MS);
    if (zone.days.size >= KEPT_DAYS) zone.days.clear();
    zone.days.set(dayNo, day);
  }
  return instant < day.changeAt ? day.before : day.after;
}

function readDay(format: Intl.DateTimeFormat, start: number): Day {
  const before = askOffset(format, start);
  const after = askOffset(format, start + DAY_MS);
  if (before === after) return { before, changeAt: start, after };
  const changed = (instant: number) => askOffset(format, instant) !== before;
  return { before, changeAt: firstIn(start, start + DAY_MS, changed), after };
}

function changeBetween(tz: string, low: number, high: number): number {
  const before = offsetAt(tz, low);
  return firstIn(low, high, (instant) => offsetAt(tz, instant) !== before);
}

/** Clocks change at whole seconds. */
function firstIn(low: number, high: number, holds: (instant: number) => boolean): number {
  let no = Math.floor(low / 1_000);
  let yes = Math.ceil(high / 1_000);
  while (yes - no > 1) {
    const middle = Math.floor((no + yes) / 2);
    if (holds(middle * 1_000)) yes = middle;
    else no = middle;
  }
  return yes * 1_000;
}

function askOffset(format: Intl.DateTimeFormat, instant: number): number {
  const parts: Record<string, number> = {};
  for (const { type, value } of format.formatToParts(instant)) parts[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(instant / 1_000) * 1_000;
}

function zoneOf(tz: string): Zone {
  const known = zones.get(tz);
  if (known !== undefined) return known;
  const numeric = { year: 'numeric', month: 'numeric', day: 'numeric' } as const;
  const time = { hour: 'numeric', minute: 'numeric', second: 'numeric', hourCycle: 'h23' } as const;
  const format = new Intl.DateTimeFormat('en-US', { timeZone: tz, calendar: 'gregory', ...numeric, ...time });
  if (zones.size >= KEPT_ZONES) zones.clear();
  const zone = { format, days: new Map<number, Day>() };
  zones.set(tz, zone);
  return zone;
}
