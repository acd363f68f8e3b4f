/** What a child asks of its parent's output before it runs: `contains:<text>` or `regex:<pattern>`. */

import { RE2JS } from 're2js';

export const CONDITION_CHARS = 1_024;
/** Output beyond this is not looked at. */
const EXAMINED_CHARS = 1_000_000;
/** A pattern costs its size for each character in the worst case; this much is spent, well within 200 ms. */
const REGEX_STEPS = 2_000_000;
const REGEX_CHARS = 262_144;
const REGEX_SIZE = 1_000;
/** Compiled patterns kept; a server has far fewer in use. */
const KEPT = 500;

/** Why a condition cannot be used; null when it can. */
export function conditionProblem(text: string): string | null {
  if (text.length > CONDITION_CHARS)
    return `trigger_condition is longer than ${CONDITION_CHARS} characters; shorten it.`;
  const { kind, operand } = parts(text);
  if (kind === null)
    return 'trigger_condition begins with neither "contains:" nor "regex:"; write contains:<text> or regex:<pattern>.';
  if (operand === '')
    return `trigger_condition has nothing after "${kind}:"; write what the parent's output must show.`;
  return kind === 'regex' ? patternProblem(operand) : null;
}

/** A condition that cannot be used is never met. */
export function conditionMet(text: string, output: string): boolean {
  const { kind, operand } = parts(text);
  if (kind === null || operand === '') return false;
  if (kind === 'contains') return output.slice(0, EXAMINED_CHARS).includes(operand);
  if (patternProblem(operand) !== null) return false;
  const pattern = compiled(operand);
  const chars = Math.min(REGEX_CHARS, Math.floor(REGEX_STEPS / pattern.programSize()));
  // Where the output is cut is not its end, and "$" must not take it for one.
  const examined = output.length > chars ? `${output.slice(0, chars)}\u0000` : output;
  return pattern.matcher(examined).find();
}

function parts(text: string): { kind: 'contains' | 'regex' | null; operand: string } {
  for (const kind of ['contains', 'regex'] as const)
    if (text.startsWith(`${kind}:`)) return { kind, operand: text.slice(kind.length + 1) };
  return { kind: null, operand: '' };
}

function patternProblem(pattern: string): string | null {
  if (/\(\?(?:[=!]|<[=!])|\\[1-9]/.test(pattern.replaceAll('\\\\', '')))
    return 'trigger_condition uses lookaround or a back-reference, which can take unlimited time; write the pattern without it.';
  // Counted repeats are written out before the size is known.
  const repeats = [...pattern.matchAll(/\{(\d+)(?:,(\d*))?\}/g)].map(([, from, to]) => Number(to || from));
  const total = repeats.reduce((sum, count) => sum + count, 0);
  try {
    if (total <= REGEX_SIZE && compiled(pattern).programSize() <= REGEX_SIZE) return null;
    return 'trigger_condition has a pattern that grows too large; use smaller repeat counts.';
  } catch (error) {
    const reason =
      error instanceof Error ? error.message.replace('error parsing regexp: ', '') : String(error);
    return `trigger_condition has a pattern that cannot be used (${reason}); correct it.`;
  }
}

const memory = new Map<string, RE2JS>();

function compiled(pattern: string): RE2JS {
  const known = memory.get(pattern);
  if (known !== undefined) return known;
  const fresh = RE2JS.compile(pattern);
  if (memory.size >= KEPT) memory.clear();
  memory.set(pattern, fresh);
  return fresh;
}
