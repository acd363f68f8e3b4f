/** Turns spawn messages into schedules that run once, never with more rights than whoever asked. */

import { isJsonObject } from '../domain/json-object.ts';
import { loopActor } from '../domain/actor.ts';
import { SpineError } from '../domain/error.ts';
import { LIMITS } from '../domain/limits.ts';
import type { Message } from '../domain/message.ts';
import { completeSchedule } from '../domain/schedule-draft.ts';
import type { Schedule, ScheduleSpec } from '../domain/schedule.ts';
import { spawnedSpec } from '../domain/spawn.ts';
import type { Tx } from '../store/store.ts';
import type { Core } from './core.ts';
import { fire } from './firing.ts';
import type { ChangeSet } from './change-set.ts';
import { insertSchedule } from './schedules.ts';

const SPAWNER = loopActor('spawner');

/** Each message in a transaction of its own: one that cannot be done must not hold up the others. */
export async function spawnNext(core: Core): Promise<boolean> {
  await core.types();
  const found = await core.flusher.transact(SPAWNER, async (tx, changeSet) => {
    const [message] = await tx.messages.pendingSpawns(1);
    if (message === undefined) return false;
    const problem = await spawn(core, tx, changeSet, message);
    await tx.messages.end(message.no, problem === null ? 'delivered' : 'failed', problem, changeSet.now);
    return true;
  });
  // Only now others can read the type that the child may have brought.
  if (found) core.forgetTypes();
  return found;
}

/** What stands against it, in words; null when the child was made. */
async function spawn(core: Core, tx: Tx, changeSet: ChangeSet, message: Message): Promise<string | null> {
  const body = parsed(message.body);
  if (body === null) return 'body must be a JSON object with at least name and payload_message';
  const [parent] = message.scheduleId === null ? [] : await tx.schedules.lock([message.scheduleId]);
  if (message.scheduleId !== null && parent === undefined) return 'the schedule that asked is gone';
  const problem = (await askerProblem(tx, message)) ?? (parent ? await roomProblem(tx, parent) : null);
  if (problem !== null) return problem;
  const judged = specOf(core, body, parent, changeSet.now);
  if (typeof judged === 'string') return judged;
  try {
    const made = { spec: judged, enabled: true, nextRunAt: null, spawnedBy: message.id };
    const child = await insertSchedule(core, tx, changeSet.now, message.sender, made);
    await fire(core, tx, changeSet, child, { kind: 'spawn', dueAt: null });
    await tx.schedules.save([child]);
    return null;
  } catch (error) {
    if (error instanceof SpineError && error.code === 'bad_request') return String(error.details['problem']);
    throw error;
  }
}

function parsed(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** A run's child has what its schedule has; head may ask for anything. */
function specOf(
  core: Core,
  body: Readonly<Record<string, unknown>>,
  parent: Schedule | undefined,
  now: number,
): ScheduleSpec | string {
  const { shell, gateways } = core.scheduling;
  const facts = { now, shellAllowed: shell, gateways };
  const answer =
    parent === undefined
      ? completeSchedule({ delete_after_run: true, schedule_kind: 'manual', ...body }, null, facts)
      : spawnedSpec(body, parent, facts);
  return answer.ok ? answer.spec : answer.problem;
}

/** A run must not use up the schedules that everybody shares, neither by itself nor through what it asked for. */
async function roomProblem(tx: Tx, parent: Schedule): Promise<string | null> {
  await tx.chains.lock();
  const { above, inChain } = await tx.chains.spawnedAround(parent.id);
  if (above >= LIMITS.spawnDepth)
    return `runs that were asked for may ask for others ${LIMITS.spawnDepth} levels deep, no deeper`;
  if (inChain < LIMITS.spawnedPerChain) return null;
  return `${inChain} runs that were asked for are under way in this chain, and no more are allowed; wait until some have ended`;
}

/** Whoever cancelled a run does not want what it asked for just before. */
async function askerProblem(tx: Tx, { jobNo }: Message): Promise<string | null> {
  if (jobNo === null) return null;
  const [asker] = await tx.jobs.lockByNo([jobNo]);
  if (asker === undefined) return 'the run that asked is gone';
  return asker.cancelRequested || asker.state === 'cancelled' ? 'the run that asked was cancelled' : null;
}
