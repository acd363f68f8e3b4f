/** Lengths of time as people write them: `90s`, `1h30m`, `500ms`. */

const UNITS: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000, ms: 1 };
const PART = /(\d{1,15}(?:\.\d{1,3})?)(ms|[smhd])/g;
const WHOLE = /^(?:\d{1,15}(?:\.\d{1,3})?(?:ms|[smhd]))+$/;
const BARE = /^\d{1,15}(?:\.\d{1,3})?$/;

/** In milliseconds; a bare number is seconds. Null when it is none. */
export function durationMs(text: string): number | null {
  if (BARE.test(text)) return Math.round(Number(text) * 1_000);
  if (!WHOLE.test(text)) return null;
  let ms = 0;
  for (const [, count, unit = 's'] of text.matchAll(PART)) ms += Number(count) * (UNITS[unit] ?? 0);
  return Math.round(ms);
}
