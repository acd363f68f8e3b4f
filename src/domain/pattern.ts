/** Regular expressions that users write, on an engine whose time grows with the text alone, and within bounds. */

import { RE2JS } from 're2js';

const PATTERN_CHARS = 1_024;
/** Instructions of one pattern: a character of text costs at most this many steps. */
const PATTERN_SIZE = 1_000;
/** The same before the engine has simplified it; this many take 2 ms. */
const WRITTEN_OUT = 4_000;
/** Compiled patterns kept; a server has far fewer in use. */
const KEPT = 500;

/** A pattern that may be used. */
export interface Pattern {
  readonly size: number;
  /** Steps that one character of text may cost: 20 to 110 ns each. */
  readonly width: number;
  test(text: string): boolean;
}

/** Why the pattern may not be used, as the end of a sentence that begins with where it stands. */
export function patternProblem(pattern: string): string | null {
  if (pattern.length > PATTERN_CHARS)
    return `has a pattern of more than ${PATTERN_CHARS} characters; shorten it.`;
  if (/\(\?(?:[=!]|<[=!])|\\[1-9]/.test(pattern.replaceAll('\\\\', '')))
    return 'uses lookaround or a back-reference, which can take unlimited time; write the pattern without it.';
  const tooLarge = 'has a pattern that grows too large; use smaller repeat counts.';
  // Repeats are written out when a pattern is compiled, so their size is judged before.
  if (measure(pattern).size > WRITTEN_OUT) return tooLarge;
  try {
    return compiledPattern(pattern).size <= PATTERN_SIZE ? null : tooLarge;
  } catch (error) {
    const reason =
      error instanceof Error ? error.message.replace('error parsing regexp: ', '') : String(error);
    return `has a pattern that cannot be used (${reason}); correct it.`;
  }
}

/** How long compiling takes, in characters of plain text: about 7 µs each. Classes of Unicode cost more, in any case most. */
export function compileCost(pattern: string): number {
  const classes = pattern.match(/\\p/gi)?.length ?? 0;
  return pattern.length + classes * (/\(\?[a-z]*i/.test(pattern) ? 40 : 4);
}

/** To be asked for patterns without a problem only. */
export function compiledPattern(pattern: string): Pattern {
  const known = memory.get(pattern);
  if (known !== undefined) return known;
  const engine = RE2JS.compile(RE2JS.translateRegExp(pattern));
  const size = engine.programSize();
  const width = 1 + Math.min(size, measure(pattern).ambiguous);
  const fresh = { size, width, test: (text: string) => engine.test(text) };
  if (memory.size >= KEPT) memory.clear();
  memory.set(pattern, fresh);
  return fresh;
}

const memory = new Map<string, Pattern>();

interface Measure {
  /** Characters of the pattern when every counted repeat is written out; braces in a quotation only raise it. */
  readonly size: number;
  /** The same of what follows the first place where a text can be read in two ways. All before it is in one place at a time. */
  readonly ambiguous: number;
}

function measure(pattern: string): Measure {
  const sums = [0];
  let last = 0;
  let groupFrom = 0;
  let fixed: number | null = pattern.startsWith('^') ? null : 0;
  const add = (size: number): void => {
    last = size;
    sums[sums.length - 1] = (sums.at(-1) ?? 0) + size;
  };
  for (const [token, from, to] of pattern.matchAll(TOKEN)) {
    const [outer = 0] = sums;
    if (token.length === 1 && '|*+?'.includes(token))
      fixed ??= token === '|' && sums.length === 1 ? 0 : sums.length > 1 ? groupFrom : outer - last;
    if (to !== undefined && to !== from) fixed ??= sums.length > 1 ? groupFrom : outer - last;
    if (token.startsWith('(')) {
      if (sums.length === 1) groupFrom = outer;
      sums.push(0);
    } else if (token === ')' && sums.length > 1) add(1 + (sums.pop() ?? 0));
    else if (from !== undefined) {
      const once = last;
      add(once * Math.max(0, Number(to || from) - 1));
      last += once;
    } else add(1);
  }
  const size = sums.reduce((total, sum) => total + sum, 0);
  return { size, ambiguous: size - (fixed ?? size) };
}

const TOKEN =
  /\((?:\?(?:P?<\w+>|[a-z-]*:))?|\\[pP]\{[^}]*\}|\\[\s\S]|\[\^?\]?(?:\\[\s\S]|[^\]\\])*\]|\{(\d+)(?:,(\d*))?\}|[\s\S]/g;
