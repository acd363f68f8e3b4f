/** What others left for this turn: the results of the jobs it waited for, the answers to what was asked, the last checkpoint. */

import { oneLine, quoted, quoteSection } from './quote.ts';

/** As a claim tells it. */
export interface HandedOn {
  readonly answers?: readonly { readonly question: string; readonly answer: unknown; readonly by: string }[];
  readonly checkpoint?: unknown;
  readonly inputs?: Readonly<Record<string, unknown>>;
  readonly inputsLeftOut?: readonly string[];
}

/** What is shown of one question, answer, checkpoint or result. */
const SHOWN_CHARS = 3_000;
/** Of the jobs that were waited for, so many results are shown. */
const SHOWN_INPUTS = 10;

export function handedOnBlock(handedOn: HandedOn, nonce: string): string | null {
  const blocks = [inputsBlock(handedOn, nonce), workBlock(handedOn, nonce)].filter((one) => one !== null);
  return blocks.length === 0 ? null : blocks.join('\n\n');
}

function inputsBlock({ inputs = {}, inputsLeftOut = [] }: HandedOn, nonce: string): string | null {
  const results = Object.entries(inputs);
  const more = Math.max(0, results.length - SHOWN_INPUTS) + inputsLeftOut.length;
  if (results.length + more === 0) return null;
  const told = results
    .slice(0, SHOWN_INPUTS)
    .flatMap(([id, result]) => [`The result of job ${oneLine(id)}:`, quoted(shown(result), nonce)]);
  const rest =
    more === 0 ? [] : [`${more} more ${more === 1 ? 'job' : 'jobs'} ended that this one waited for.`];
  return ['--- Results of the jobs before this one ---', ...told, ...rest, '---'].join('\n');
}

function workBlock({ answers = [], checkpoint }: HandedOn, nonce: string): string | null {
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
