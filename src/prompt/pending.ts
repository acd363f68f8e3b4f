/** Messages to the agent that it has not seen. */

import { oneLine, quoted } from './quote.ts';

export interface PendingMessage {
  readonly from: string;
  readonly kind: string;
  readonly subject: string | null;
  readonly owner: string | null;
  readonly body: string;
}

const BODY_CHARS = 500;
/** Kinds that say how a body is to be taken; anything else is just text. */
const LABELLED = ['constraint', 'decision', 'fact', 'task', 'preference'];

export function pendingBlock(messages: readonly PendingMessage[], nonce: string): string | null {
  if (messages.length === 0) return null;
  return ['--- Pending Messages ---', ...messages.flatMap((message) => linesOf(message, nonce)), '---'].join(
    '\n',
  );
}

function linesOf({ from, kind, subject, owner, body }: PendingMessage, nonce: string): string[] {
  const labels = LABELLED.includes(kind)
    ? [`[${kind}]`, ...(owner === null ? [] : [`(owner: ${oneLine(owner)})`])]
    : [];
  const text = body.length <= BODY_CHARS ? body : `${body.slice(0, BODY_CHARS)}[... message truncated]`;
  const head = `From: ${oneLine(from)} | ${oneLine(kind)} | ${oneLine(subject ?? '(no subject)')}`;
  return [head, ...(labels.length > 0 ? [labels.join(' ')] : []), quoted(text, nonce)];
}
