/** Days as people count them, in their own zone. */

import { endOfGap, instantsAt, wallAt } from './time-zone.ts';

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/** When the day began that it is in that zone now. */
export function dayStart(tz: string, now: number): number {
  return lastAt(tz, 0, now);
}

/** When the day after begins. */
export function nextDayStart(tz: string, now: number): number {
  return nextAt(tz, 0, now);
}

/** The last moment at which the zone's clock came to so many minutes after midnight. */
export function lastAt(tz: string, minute: number, now: number): number {
  const today = momentOf(tz, dayOf(tz, now), minute);
  return today <= now ? today : momentOf(tz, dayOf(tz, now) - 1, minute);
}

/** The first moment after now. */
export function nextAt(tz: string, minute: number, now: number): number {
  const today = momentOf(tz, dayOf(tz, now), minute);
  return today > now ? today : momentOf(tz, dayOf(tz, now) + 1, minute);
}

/** As its date is written: 2026-02-10. */
export function dateOf(tz: string, at: number): string {
  return new Date(wallAt(tz, at)).toISOString().slice(0, 10);
}

function dayOf(tz: string, at: number): number {
  return Math.floor(wallAt(tz, at) / DAY_MS);
}

/** Of a time that comes twice the first; of one that is left out, the end of the gap. */
function momentOf(tz: string, day: number, minute: number): number {
  const wall = day * DAY_MS + minute * MINUTE_MS;
  return instantsAt(tz, wall)[0] ?? endOfGap(tz, wall);
}
