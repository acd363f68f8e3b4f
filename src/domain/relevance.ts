/** Which texts tell of what somebody is about to do: rare words count more than common ones, whole words more than parts. */

/** Of one text so many different words are looked for, the longest: they are the rarer ones. */
const WORDS = 24;
const LOOK_CHARS = 20_000;
/** Shorter ones occur inside of nearly every other word. */
const PART_CHARS = 4;
const PART_COUNTS = 0.5;

/** The words that are looked for, those of each text to itself: a long one does not crowd out the others. */
export function wordsOf(texts: readonly string[]): string[] {
  return [...new Set(texts.flatMap(longest))];
}

function longest(text: string): string[] {
  return [...new Set(split(text))].toSorted((a, b) => b.length - a.length).slice(0, WORDS);
}

function split(text: string): string[] {
  return (
    text
      .slice(0, LOOK_CHARS)
      .toLowerCase()
      .match(/[\p{L}\p{N}]{2,}/gu) ?? []
  );
}

/** Those that have any of the words, best first; of two that are as good, the one that came first. */
export function byRelevance<T extends { readonly summary: string }>(
  told: readonly T[],
  words: readonly string[],
): T[] {
  const counted = told.map((each) => ({ each, counts: countsIn(each.summary, words) }));
  const weights = words.map((_, i) => rarity(counted.filter(({ counts }) => counts[i]).length, told.length));
  return counted
    .map(({ each, counts }) => ({ each, score: scoreOf(counts, weights) }))
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score)
    .map(({ each }) => each);
}

/** How often each word occurs; part of another word, it counts less. */
function countsIn(summary: string, words: readonly string[]): number[] {
  const text = summary.toLowerCase();
  const whole = new Map<string, number>();
  for (const word of split(text)) whole.set(word, (whole.get(word) ?? 0) + 1);
  return words.map((word) => {
    const count = whole.get(word) ?? 0;
    return count === 0 && word.length >= PART_CHARS && text.includes(word) ? PART_COUNTS : count;
  });
}

function rarity(having: number, all: number): number {
  return having === 0 ? 0 : Math.log(1 + all / having);
}

/** A word that is said ten times tells little more than one that is said once. */
function scoreOf(counts: readonly number[], weights: readonly number[]): number {
  return counts.reduce((sum, count, i) => sum + (count / (count + 1)) * (weights[i] ?? 0), 0);
}
