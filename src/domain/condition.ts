/** What a child asks of its parent's output before it runs: `contains:<text>` or `regex:<pattern>`. */

import { compiledPattern, patternProblem } from './pattern.ts';

export const CONDITION_CHARS = 1_024;
/** Output beyond this is not looked at. */
const EXAMINED_CHARS = 1_000_000;
/** Looking for a long text in one much like it compares it at every place; this many characters take 45 ms. */
const CONTAINS_STEPS = 250_000_000;
/** A pattern costs its width for each character, up to 110 ns each; this much is spent, within 50 ms. */
const REGEX_STEPS = 400_000;
const REGEX_CHARS = 262_144;

/** Why a condition cannot be used; null when it can. */
export function conditionProblem(text: string): string | null {
  if (text.length > CONDITION_CHARS)
    return `trigger_condition is longer than ${CONDITION_CHARS} characters; shorten it.`;
  const { kind, operand } = conditionParts(text);
  if (kind === null)
    return 'trigger_condition begins with neither "contains:" nor "regex:"; write contains:<text> or regex:<pattern>.';
  if (operand === '')
    return `trigger_condition has nothing after "${kind}:"; write what the parent's output must show.`;
  const problem = kind === 'regex' ? patternProblem(operand) : null;
  return problem === null ? null : `trigger_condition ${problem}`;
}

/** A condition that cannot be used is never met. */
export function conditionMet(text: string, output: string): boolean {
  const { kind, operand } = conditionParts(text);
  if (kind === null || operand === '') return false;
  if (kind === 'contains')
    return output.slice(0, Math.min(EXAMINED_CHARS, CONTAINS_STEPS / operand.length)).includes(operand);
  if (patternProblem(operand) !== null) return false;
  const pattern = compiledPattern(operand);
  const chars = Math.min(REGEX_CHARS, Math.floor(REGEX_STEPS / pattern.width));
  // Where the output is cut is not its end, and "$" must not take it for one.
  const examined = output.length > chars ? `${output.slice(0, chars)}\u0000` : output;
  return pattern.test(examined);
}

/** What kind of condition it is, and what it looks for. */
export function conditionParts(text: string): { kind: 'contains' | 'regex' | null; operand: string } {
  for (const kind of ['contains', 'regex'] as const)
    if (text.startsWith(`${kind}:`)) return { kind, operand: text.slice(kind.length + 1) };
  return { kind: null, operand: '' };
}
