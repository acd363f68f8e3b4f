/** Results as large as a model can read: what is longer keeps its shape, and loses the ends of its long texts. */

/** About 15,000 tokens. */
const RESULT_CHARS = 60_000;
/** How much of each text stays, and of each inner list or object, from generous to little. */
const STEPS = [
  { chars: 16_000, items: 1_000 },
  { chars: 4_000, items: 200 },
  { chars: 1_000, items: 100 },
  { chars: 300, items: 50 },
  { chars: 200, items: 20 },
] as const;
/** Lists of jobs are never cut: a claim that is not shown would be lost. */
const WHOLE_DEPTH = 1;

type Measure = (typeof STEPS)[number];

/** JSON in, JSON out. */
export function shortened(text: string, howToGoOn: string): string {
  if (text.length <= RESULT_CHARS) return text;
  const value: unknown = JSON.parse(text);
  let shorter = text;
  for (const measure of STEPS) {
    shorter = JSON.stringify({ ...(cut(value, measure, 0) as object), shortened: howToGoOn });
    if (shorter.length <= RESULT_CHARS) break;
  }
  return shorter;
}

function cut(value: unknown, measure: Measure, depth: number): unknown {
  if (typeof value === 'string') return cutText(value, measure.chars);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const shown = depth <= WHOLE_DEPTH ? value : value.slice(0, measure.items);
    const rest = value.length - shown.length;
    return [
      ...shown.map((one) => cut(one, measure, depth + 1)),
      ...(rest > 0 ? [`… [${rest} more items]`] : []),
    ];
  }
  const entries = Object.entries(value);
  // Our own objects have a few dozen fields; what callers put inside may have any number.
  const shown = entries.slice(0, Math.max(measure.items, depth <= 2 ? 100 : 0));
  const rest = entries.length - shown.length;
  return Object.fromEntries([
    ...shown.map(([name, inner]) => [cutText(name, measure.chars), cut(inner, measure, depth + 1)]),
    ...(rest > 0 ? [['…', `[${rest} more fields]`]] : []),
  ]);
}

function cutText(text: string, chars: number): string {
  if (text.length <= chars) return text;
  const kept = text.slice(0, chars).toWellFormed();
  return `${kept}… [${text.length - kept.length} more characters]`;
}
