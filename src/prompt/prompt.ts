/** What an agent sees: a header, the scheduler's own sections, and the message as its author wrote it. */

import type { RunPlan } from '../domain/schedule.ts';
import { type Access, accessSection } from './access.ts';
import { idempotencySection } from './idempotency.ts';
import { type HandedOn, handedOnBlock } from './handed-on.ts';
import { messagesBlock, type ToldMessage } from './messages.ts';
import { priorRunsBlock, type ToldRun } from './prior-runs.ts';
import { memoryFlushSection, modelSection, scopeSection } from './sections.ts';
import { oneLine, quoted, quoteSection } from './quote.ts';
import { triggerBlock } from './trigger.ts';

export interface PromptParts {
  readonly plan: RunPlan;
  readonly message: string;
  /** The first run of the lineage, so that a replay carries the same key. */
  readonly firstRunId: string;
  /** Nobody who wrote something that is quoted can know it. */
  readonly nonce: string;
  readonly access: Access | null;
  readonly priorRuns: readonly ToldRun[];
  readonly messages: readonly ToldMessage[];
  readonly handedOn: HandedOn;
}

/** Blocks stand apart by one blank line; a block that has nothing to say is left out. */
export function promptOf(parts: PromptParts): string {
  const { plan, message, firstRunId, nonce, access, priorRuns, messages, handedOn } = parts;
  const { schedule, trigger } = plan;
  const blocks = [
    schedule.isSpawned
      ? `[scheduler:${schedule.id}]`
      : `[scheduler:${schedule.id} ${oneLine(schedule.name)}]`,
    modelSection(schedule.payloadThinking),
    memoryFlushSection(schedule.jobClass),
    scopeSection(schedule.payloadScope),
    ...explained(
      [
        schedule.isSpawned ? spawnedBlock(schedule.name, nonce) : null,
        messagesBlock(messages, nonce),
        triggerBlock(trigger, nonce),
        priorRunsBlock(priorRuns, nonce),
        handedOnBlock(handedOn, nonce),
      ],
      nonce,
    ),
    idempotencySection(plan, firstRunId),
    accessSection(access),
    message,
  ];
  return blocks.filter((block) => block !== null).join('\n\n');
}

/** Its name stands in no line of the scheduler's own: another agent wrote it. */
function spawnedBlock(name: string, nonce: string): string {
  return `A run asked for this job, and called it:\n${quoted(oneLine(name), nonce)}`;
}

/** What others wrote, behind a word on how to take it. */
function explained(blocks: readonly (string | null)[], nonce: string): readonly (string | null)[] {
  return blocks.some((block) => block !== null) ? [quoteSection(nonce), ...blocks] : [];
}
