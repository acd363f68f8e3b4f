/** What earlier turns and attempts left for this one: the answers to what they asked, and the last checkpoint. */

import { oneLine, quoted, quoteSection } from './quote.ts';

/** As a claim tells it. */
export interface HandedOn {
  readonly answers?: readonly { readonly question: string; readonly answer: unknown; readonly by: string }[];
  readonly checkpoint?: unknown;
}

/** What is shown of one question, answer or checkpoint. */
const SHOWN_CHARS = 3_000;

export function handedOnBlock({ answers = [], checkpoint }: HandedOn, nonce: string): string | null {
  if (answers.length === 0 && checkpoint === undefined) return null;
  const told = answers.flatMap(({ question, answer, by }) => [
    'You asked:',
    quoted(shown(question), nonce),
    `Answered by ${oneLine(by)}:`,
    quoted(shown(answer), nonce),
  ]);
  const left = checkpoint === undefined ? [] : ['The last checkpoint:', quoted(shown(checkpoint), nonce)];
  return ['--- Work so far ---', ...left, ...told, 'Go on from there.', '---'].join('\n');
}

/** For work that comes without a schedule's sections. */
export function withHandedOn(message: string, handedOn: HandedOn, nonce: string): string {
  const block = handedOnBlock(handedOn, nonce);
  return block === null ? message : [quoteSection(nonce), block, message].join('\n\n');
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length <= SHOWN_CHARS ? text : `${text.slice(0, SHOWN_CHARS).toWellFormed()}… (cut)`;
}
