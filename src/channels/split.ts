/** Cuts a long text where a reader would: between paragraphs, lines, sentences or words, as long as a piece stays well filled. */

/** What a character takes of the limit; UTF-16 units unless said. */
type Cost = (char: string) => number;

const BREAKS = [/\n\s*\n/g, /\n/g, /[.!?…]\s+/g, /\s+/g] as const;

export function split(text: string, limit: number, cost: Cost = (char) => char.length): string[] {
  const parts: string[] = [];
  let rest = text.toWellFormed();
  while (rest !== '') {
    const window = fitting(rest, limit, cost);
    const end = window.length === rest.length ? rest.length : placeToCut(window);
    const part = rest.slice(0, end).trimEnd();
    if (part !== '') parts.push(part);
    rest = rest.slice(end).replace(/^\s+/, '');
  }
  return parts.length === 0 ? [' '] : parts;
}

/** The longest beginning that fits; at least one character, or it would never end. */
function fitting(text: string, limit: number, cost: Cost): string {
  let [used, end] = [0, 0];
  for (const char of text) {
    used += cost(char);
    if (used > limit && end > 0) break;
    end += char.length;
  }
  return text.slice(0, end);
}

function placeToCut(window: string): number {
  for (const pattern of BREAKS) {
    const last = [...window.matchAll(pattern)].at(-1);
    if (last !== undefined && last.index >= window.length / 2) return last.index + last[0].length;
  }
  return window.length;
}
