/**
 * ISO 8601 text of times, of which some are remembered: what was decided together shows the same few again and again. To
 * print each anew takes 1.3 µs more for a job that is handed out, 6 % of what the server's main thread takes for it in
 * `http-batches`, side by side on a shared 2-core machine.
 */

/** A power of two. */
const REMEMBERED = 64;
const MS_TEXTS = Array.from({ length: 1000 }, (_, ms) => `${String(ms).padStart(3, '0')}Z`);
const knownMs = new Float64Array(REMEMBERED).fill(Number.NaN);
const knownTexts = Array.from(knownMs, () => '');
const knownS = new Float64Array(REMEMBERED).fill(Number.NaN);
const knownStarts = Array.from(knownS, () => '');

export function iso(ms: number): string {
  const place = ms & (REMEMBERED - 1);
  if (knownMs[place] !== ms) {
    const second = Math.floor(ms / 1000);
    knownTexts[place] = startOf(second) + MS_TEXTS[ms - second * 1000];
    knownMs[place] = ms;
  }
  return knownTexts[place] ?? '';
}

/** Remembers some seconds too: other times that are shown together lie within few of them. */
function startOf(second: number): string {
  const place = second & (REMEMBERED - 1);
  if (knownS[place] !== second) {
    knownStarts[place] = new Date(second * 1000).toISOString().slice(0, -'000Z'.length);
    knownS[place] = second;
  }
  return knownStarts[place] ?? '';
}
