/** Messages to the agent that it has not seen. */

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

export function pendingBlock(messages: readonly PendingMessage[]): string | null {
  if (messages.length === 0) return null;
  return ['--- Pending Messages ---', ...messages.flatMap(linesOf), '---'].join('\n');
}

function linesOf({ from, kind, subject, owner, body }: PendingMessage): string[] {
  const label = LABELLED.includes(kind) ? `[${kind}] ${owner === null ? '' : `(owner: ${owner}) `}` : '';
  const text = body.length <= BODY_CHARS ? body : `${body.slice(0, BODY_CHARS)}[... message truncated]`;
  return [`From: ${from} | ${kind} | ${subject ?? '(no subject)'}`, label + text];
}
