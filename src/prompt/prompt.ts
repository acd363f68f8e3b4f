/** What an agent sees: a header, the notes of the scheduler, and the message as its author wrote it. */

import type { RunPlan } from '../domain/schedule.ts';
import { idempotencyNote } from './idempotency.ts';
import { flushNote, modelNote, scopeNote } from './notes.ts';
import { type PendingMessage, pendingBlock } from './pending.ts';
import { type PriorRun, priorBlock } from './prior.ts';
import { triggerBlock } from './trigger.ts';

export interface PromptParts {
  readonly plan: RunPlan;
  readonly message: string;
  /** The first run of the lineage, so that a replay carries the same key. */
  readonly firstRunId: string;
  readonly pending: readonly PendingMessage[];
  readonly prior: readonly PriorRun[];
}

/** Blocks stand apart by one blank line; a block that has nothing to say is left out. */
export function promptOf({ plan, message, firstRunId, pending, prior }: PromptParts): string {
  const { schedule, trigger } = plan;
  const blocks = [
    `[scheduler:${schedule.id} ${schedule.name}]`,
    modelNote(schedule.payloadThinking),
    flushNote(schedule.jobClass),
    scopeNote(schedule.payloadScope),
    pendingBlock(pending),
    triggerBlock(trigger),
    priorBlock(prior),
    idempotencyNote(plan, firstRunId),
    message,
  ];
  return blocks.filter((block) => block !== null).join('\n\n');
}
