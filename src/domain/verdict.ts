/** What a model made of a failure: whether a retry is worth while, and what to do differently. */

/** `none` stands for a model that could not be asked, or said nothing that can be used. */
export type Decision = 'retry' | 'skip' | 'none';

export interface Verdict {
  readonly decision: Decision;
  /** The advice, or why not; for `none` what went wrong. Null when nothing was said. */
  readonly words: string | null;
}

const WORDS_CHARS = 500;
/** What may stand around a verdict: quotes, emphasis, a label. */
const LEAD = /^[\s"'`*_#>([]*(?:(?:answer|verdict|response|decision)\s*[:=-]\s*)?[\s"'`*_]*/iu;
/** The word alone on its line. Followed by other words it begins a sentence: that is advice. */
const ALONE = /^skip[ \t"'`*_)\].!]*(?:$|\n(?<why>.*)$)/isu;
/** In capitals, as it was asked for, a reason may follow: behind a mark, or as it is. */
const WITH_REASON = /^SKIP(?:[ \t"'`*_)\]]*[-–—:.,;!(](?<behind>.*)|\s+(?<why>(?:because|since|as)\b.*))$/su;

/** A verdict and not a word: "skip." and "SKIP - invalid ticker" are one, "Skip the first 10 pages" and "Skip: begin at page 10" are advice. */
export function verdictIn(answer: string): Verdict {
  const text = answer.toWellFormed().trim();
  const said = text.replace(LEAD, '');
  const { groups: reasons } = ALONE.exec(said) ?? WITH_REASON.exec(said) ?? { groups: null };
  if (reasons !== null)
    return { decision: 'skip', words: bounded(reasons?.['why'] ?? reasons?.['behind'] ?? '') };
  const words = bounded(text);
  return words === null ? { decision: 'none', words: 'the answer was empty' } : { decision: 'retry', words };
}

function bounded(text: string): string | null {
  const line = text
    .replaceAll(/[\s\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .replaceAll(/^[-–—:.,;!\s]+|[\s)\]"'`*_]+$/gu, '');
  const head = line.slice(0, WORDS_CHARS).trim();
  return head === '' ? null : head.isWellFormed() ? head : head.slice(0, -1);
}

/** A worker that went away, or ran out of time: there is nothing to understand, and nobody is asked. */
export function isPlainFailure(cause: string | null, reason: string): boolean {
  return cause !== null || /\btime?(?:d|s)?[- ]?out\b/iu.test(reason);
}
