/** A turn's answer, read from what its session has written down. */

import { type Fields, fields, items, numberOf, textOf } from './json.ts';
import type { TurnRef, Usage } from './types.ts';
import { usage } from './usage.ts';

/** The gateway stamps messages with its own clock, which may be a little behind ours. */
const CLOCK_SKEW_MS = 5_000;

export interface Told {
  readonly text: string;
  readonly usage: Usage | null;
}

/** The last thing the agent said in the turn, in whatever run of the gateway it said it; null when it said nothing. */
export function lastAnswer(messages: readonly unknown[], turn: TurnRef): Told | null {
  const said = ofTurn(messages.map(fields), turn).filter(({ role }) => role === 'assistant');
  const text = said.map(textIn).findLast((words) => words !== '');
  if (text === undefined) return null;
  return { text, usage: sumOf(said) };
}

/** What the turn took, whether it came to an answer or not. */
export function usageOf(messages: readonly unknown[], turn: TurnRef): Usage | null {
  return sumOf(ofTurn(messages.map(fields), turn).filter(({ role }) => role === 'assistant'));
}

function sumOf(said: readonly Fields[]): Usage | null {
  return said.map(({ usage }) => usageIn(fields(usage))).reduce(add, null);
}

/** From our own message on. A chat turn's message carries no key of ours, so its time has to do. */
function ofTurn(messages: readonly Fields[], turn: TurnRef): readonly Fields[] {
  const own = messages.findIndex((message) => keyOf(message) === `${turn.runKey}:user`);
  if (own >= 0) return messages.slice(own + 1);
  return messages.filter(({ timestamp }) => (numberOf(timestamp) ?? 0) >= turn.startedAt - CLOCK_SKEW_MS);
}

function keyOf(message: Fields): string | null {
  return textOf(message['idempotencyKey']) ?? textOf(fields(message['__openclaw'])['idempotencyKey']);
}

function textIn({ content }: Fields): string {
  if (typeof content === 'string') return content;
  const texts = items(content)
    .map(fields)
    .filter(({ type }) => type === 'text');
  return texts.map(({ text }) => textOf(text) ?? '').join('');
}

export function usageIn(counted: Fields): Usage | null {
  const total = numberOf(counted['totalTokens']) ?? numberOf(counted['total']);
  return usage(numberOf(counted['input']), numberOf(counted['output']), total);
}

function add(sum: Usage | null, more: Usage | null): Usage | null {
  if (sum === null || more === null) return sum ?? more;
  return {
    inputTokens: plus(sum.inputTokens, more.inputTokens),
    outputTokens: plus(sum.outputTokens, more.outputTokens),
    totalTokens: plus(sum.totalTokens, more.totalTokens),
  };
}

function plus(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : a + b;
}
