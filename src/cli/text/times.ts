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

/** The largest unit only: `90 s` reads as `1m`. */
export function duration(ms: number): string {
  for (const [unit, size] of UNITS) {
    if (ms >= size) return `${Math.floor(ms / size)}${unit}`;
  }
  return `${Math.round(ms)}ms`;
}

const WORDS: Readonly<Record<string, number>> = { ms: 1, ...Object.fromEntries(UNITS) };

/** `500ms`, `30s`, `10m`, `2h`, `1d`; a bare number is seconds. Null when it is none of them. */
export function parseDuration(text: string): number | null {
  const [, count, unit = 's'] = /^(\d+(?:\.\d+)?) ?(ms|[smhd])?$/.exec(text.trim()) ?? [];
  return count === undefined ? null : Math.round(Number(count) * (WORDS[unit] ?? 1));
}
