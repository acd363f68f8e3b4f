/** What an agent sees: a header, the notes of the scheduler, and the message as its author wrote it. */

import type { RunPlan } from '../domain/schedule.ts';
import { type Access, accessNote } from './access.ts';
import { idempotencyNote } from './idempotency.ts';
import { flushNote, modelNote, scopeNote } from './notes.ts';
import { type PendingMessage, pendingBlock } from './pending.ts';
import { type PriorRun, priorBlock } from './prior.ts';
import { oneLine, quoteNote } from './quote.ts';
import { triggerBlock } from './trigger.ts';

export interface PromptParts {
  readonly plan: RunPlan;
  readonly message: string;
  /** The first run of the lineage, so that a replay carries the same key. */
  readonly firstRunId: string;
  readonly pending: readonly PendingMessage[];
  readonly prior: readonly PriorRun[];
  /** Nobody who wrote something that is quoted can know it. */
  readonly nonce: string;
  readonly access: Access | null;
}

/** Blocks stand apart by one blank line; a block that has nothing to say is left out. */
export function promptOf(parts: PromptParts): string {
  const { plan, message, firstRunId, pending, prior, nonce, access } = parts;
  const { schedule, trigger } = plan;
  const quotes = pending.length > 0 || prior.length > 0 || trigger !== null;
  const blocks = [
    `[scheduler:${schedule.id} ${oneLine(schedule.name)}]`,
    modelNote(schedule.payloadThinking),
    flushNote(schedule.jobClass),
    scopeNote(schedule.payloadScope),
    quotes ? quoteNote(nonce) : null,
    pendingBlock(pending, nonce),
    triggerBlock(trigger, nonce),
    priorBlock(prior, nonce),
    idempotencyNote(plan, firstRunId),
    accessNote(access),
    message,
  ];
  return blocks.filter((block) => block !== null).join('\n\n');
}
