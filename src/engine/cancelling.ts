/** Cancelling a job ends what it created, by whatever way it is cancelled. A big family goes in pieces, or all others would wait for it. */

import type { Accepted, Actor, Cancel, JobCommand } from '../domain/command.ts';
import { decide } from '../domain/decide.ts';
import { refuse } from '../domain/error.ts';
import type { Job } from '../domain/job.ts';
import type { Tx } from '../store/store.ts';
import type { ChangeSet } from './change-set.ts';
import { accepted, type Core } from './core.ts';

/** So many rows are ended within a few milliseconds, for which all others wait. */
export const FAMILY_PIECE = 250;

type Asked = Pick<Cancel, 'actor' | 'reason'>;

/** The job and all unfinished work it created. It goes last: whoever was not answered finds it as it was, and asks again. */
export async function cancelWithBelow(core: Core, command: Cancel): Promise<Accepted> {
  const { id, actor } = command;
  const answer = await inPieces(core, actor, async (tx, changeSet) => {
    const [job] = await tx.jobs.lock([id]);
    if (job === undefined) return refuse('not_found', { id });
    const decision = decide(changeSet.load(job), command, changeSet.now);
    if (decision.answer.ok && !(await cancelBelow(tx, changeSet, [job.no], command, FAMILY_PIECE)))
      return null;
    changeSet.apply(decision, actor);
    return decision.answer;
  });
  return accepted(answer);
}

/** For commands on a job that share a flush with others: what it created ends before them, if they would be accepted. */
export async function cancelBelowFirst(
  core: Core,
  { no }: Job,
  commands: readonly JobCommand[],
): Promise<void> {
  const [first] = commands;
  const cancel = commands.find((command) => command.kind === 'cancel');
  if (first === undefined || cancel === undefined) return;
  if ((await core.store.read.children.openBelow([no])).length === 0) return;
  await inPieces(core, cancel.actor, async (tx, changeSet) => {
    const [job] = await tx.jobs.lockByNo([no]);
    const willEnd = job !== undefined && decide(job, first, changeSet.now).answer.ok;
    return !willEnd || (await cancelBelow(tx, changeSet, [no], cancel, FAMILY_PIECE)) ? 'all' : null;
  });
}

/** One transaction after another, as long as they answer null: others have theirs in between. */
export async function inPieces<T>(
  core: Core,
  actor: Actor,
  piece: (tx: Tx, changeSet: ChangeSet) => Promise<T | null>,
): Promise<T> {
  for (;;) {
    const answer = await core.flusher.transact(actor, piece);
    if (answer !== null) return answer;
  }
}

/** Ends what these jobs created, or as many as there is room for, and answers whether that was all. */
export async function cancelBelow(
  tx: Tx,
  changeSet: ChangeSet,
  nos: readonly number[],
  asked: Asked,
  room: number,
): Promise<boolean> {
  const below = await tx.children.openBelow(nos);
  const piece = below.slice(0, room);
  // All of them at once: whoever locks in the order of their numbers never waits in a circle.
  if (piece.length > 0)
    cancelAll(changeSet, await tx.jobs.lockByNo([...nos, ...piece]), new Set(piece), asked);
  return piece.length === below.length;
}

/** Of the rows that are locked, those that are meant. Who may cancel a job may end what it created, whomever that is addressed to. */
export function cancelAll(
  changeSet: ChangeSet,
  locked: readonly Job[],
  meant: ReadonlySet<number>,
  { actor, reason }: Asked,
): void {
  for (const found of locked) {
    if (!meant.has(found.no)) continue;
    const job = changeSet.load(found);
    const cancel = { kind: 'cancel', id: job.id, actor: { ...actor, targets: null }, reason } as const;
    changeSet.apply(decide(job, cancel, changeSet.now), actor);
  }
}
