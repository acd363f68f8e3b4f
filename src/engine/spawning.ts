/** Turns spawn messages into schedules that run once, never with more rights than whoever asked. */

import { SYSTEM } from '../domain/actor.ts';
import { SpineError } from '../domain/error.ts';
import { completeSchedule, snakeName } from '../domain/schedule-draft.ts';
import type { Schedule, ScheduleSpec } from '../domain/schedule.ts';
import type { Tx } from '../store/store.ts';
import type { Message } from '../store/types/scheduling.ts';
import type { Core } from './core.ts';
import { fire } from './firing.ts';
import type { Ledger } from './ledger.ts';
import { insertSchedule } from './schedules.ts';

/** Each message in a transaction of its own: one that cannot be done must not hold up the others. */
export async function spawnNext(core: Core): Promise<boolean> {
  await core.types();
  const found = await core.flusher.transact(SYSTEM, async (tx, ledger) => {
    const [message] = await tx.pendingSpawns(1);
    if (message === undefined) return false;
    const problem = await spawn(core, tx, ledger, message);
    await tx.endMessage(message.no, problem === null ? 'delivered' : 'failed', problem, ledger.now);
    return true;
  });
  // Only now others can read the type that the child may have brought.
  if (found) core.forgetTypes();
  return found;
}

/** What stands against it, in words; null when the child was made. */
async function spawn(core: Core, tx: Tx, ledger: Ledger, message: Message): Promise<string | null> {
  const body = parsed(message.body);
  if (body === null) return 'body must be a JSON object with at least name and payload_message';
  const [parent] = message.scheduleId === null ? [] : await tx.lockSchedules([message.scheduleId]);
  if (message.scheduleId !== null && parent === undefined) return 'the schedule that asked is gone';
  const judged = draftOf(core, body, parent, ledger.now);
  if (typeof judged === 'string') return judged;
  try {
    const made = { spec: judged, enabled: true, spawnedBy: message.id };
    const child = await insertSchedule(core, tx, ledger.now, message.sender, made);
    await fire(core, tx, ledger, child, { kind: 'spawn', dueAt: null });
    await tx.saveSchedules([child]);
    return null;
  } catch (error) {
    if (error instanceof SpineError && error.code === 'bad_request') return String(error.details['problem']);
    throw error;
  }
}

function parsed(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

/** A child inherits where its parent runs; what would reach further than the parent is refused. */
function draftOf(
  core: Core,
  body: Readonly<Record<string, unknown>>,
  parent: Schedule | undefined,
  now: number,
): ScheduleSpec | string {
  const own = parent?.spec;
  const inherited = own && {
    session_target: own.sessionTarget === 'main' ? 'isolated' : own.sessionTarget,
    agent_id: own.agentId,
    gateway: own.gateway,
    target: own.target,
    delivery_mode: own.deliveryMode,
    delivery_channel: own.deliveryChannel,
    delivery_to: own.deliveryTo,
  };
  const { shell, gateways } = core.scheduling;
  const draft = { ...inherited, delete_after_run: true, schedule_kind: 'manual', ...body };
  const answer = completeSchedule(draft, null, { now, shellAllowed: shell, gateways });
  if (!answer.ok) return answer.problem;
  const { spec } = answer;
  if (parent === undefined) return spec;
  const problem = beyondParent(spec, parent.spec);
  if (problem !== null) return problem;
  return {
    ...spec,
    parentId: parent.id,
    approvalRequired: spec.approvalRequired || parent.spec.approvalRequired,
  };
}

function beyondParent(spec: ScheduleSpec, own: ScheduleSpec): string | null {
  if (spec.parentId !== null) return 'parent_id is set by the scheduler; leave it out';
  if (spec.sessionTarget === 'shell' && own.sessionTarget !== 'shell')
    return 'session_target shell is not allowed: the run that asks is not a shell command itself';
  const key = (['agentId', 'gateway', 'target'] as const).find((each) => spec[each] !== own[each]);
  return key === undefined ? null : `${snakeName(key)} must be ${own[key]}, as for the run that asks`;
}
