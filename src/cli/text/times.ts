/** Times and durations as people write and read them. */

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const;

/** `12s ago`, `in 3h`, `now`. */
export function relative(iso: string | number | null | undefined, nowMs: number): string {
  if (iso === null || iso === undefined) return '-';
  const ms = typeof iso === 'number' ? iso : Date.parse(iso);
  if (Number.isNaN(ms)) return '-';
  const distanceMs = nowMs - ms;
  const size = Math.abs(distanceMs);
  if (size < 1_000) return 'now';
  return distanceMs > 0 ? `${duration(size)} ago` : `in ${duration(size)}`;
}

/** As people say it, in what they may also write: `45s`, `1m30s`, `4m`, `1h30m`, `2d`. Two units only below twice the larger one. */
export function duration(ms: number): string {
  for (const [index, [unit, size]] of UNITS.entries()) {
    const [lesser, step] = UNITS[index + 1] ?? ['ms', 1];
    // 59.7 s are a minute.
    const rounded = Math.round(ms / step) * step;
    if (rounded < size) continue;
    const rest = Math.round((rounded - size) / step);
    if (step > 1 && rounded < 2 * size) return rest === 0 ? `1${unit}` : `1${unit}${rest}${lesser}`;
    const count = Math.round(ms / size);
    const [larger, whole] = UNITS[index - 1] ?? [unit, Infinity];
    return count * size >= whole ? `1${larger}` : `${count}${unit}`;
  }
  return `${Math.round(ms)}ms`;
}

const WORDS: Readonly<Record<string, number>> = { ms: 1, w: 604_800_000, ...Object.fromEntries(UNITS) };
const PART = /(\d{1,15}(?:\.\d{1,6})?) ?(ms|[smhdw])/g;
const WHOLE = /^(?:\d{1,15}(?:\.\d{1,6})? ?(?:ms|[smhdw]) ?)+$/;
const BARE = /^\d{1,15}(?:\.\d{1,6})?$/;

/** `500ms`, `30s`, `1h30m`, `1d 12h`; a bare number is seconds. Null when it is none of them. */
export function parseDuration(text: string): number | null {
  const written = text.trim();
  if (BARE.test(written)) return Math.round(Number(written) * 1_000);
  if (!WHOLE.test(written)) return null;
  const parts = [...written.matchAll(PART)];
  return Math.round(
    parts.reduce((sum, [, count, unit = 's']) => sum + Number(count) * (WORDS[unit] ?? 0), 0),
  );
}

const TIME = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(Z|([+-]\d\d)(?::?(\d\d))?)?)?$/i;

/** A time as ISO 8601 writes it, with a zone or without, in the one form that all readers take; null when it is none. */
export function parseTime(text: string): string | null {
  const [, day, clock = '00:00', zone = '', hours, minutes = '00'] = TIME.exec(text.trim()) ?? [];
  if (day === undefined || !isDay(day)) return null;
  const iso = `${day}T${clock}${hours === undefined ? zone.toUpperCase() : `${hours}:${minutes}`}`;
  return Number.isNaN(Date.parse(iso)) ? null : iso;
}

/** For some readers the 31st of February is a day in March. */
function isDay(day: string): boolean {
  const at = Date.parse(`${day}T00:00Z`);
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(day);
}
