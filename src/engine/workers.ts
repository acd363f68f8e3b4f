/** Workers with a slot: they take it, are heard from, are drained, and are found when they fell silent. */

import { SYSTEM } from '../domain/actor.ts';
import type { Actor, Edit } from '../domain/command.ts';
import { decide } from '../domain/decide.ts';
import { SpineError } from '../domain/error.ts';
import type { Job } from '../domain/job.ts';
import { mayTouch } from '../domain/lease.ts';
import { LIMITS } from '../domain/limits.ts';
import {
  baseSlot,
  beaten,
  isDoing,
  isTaken,
  livesByBeats,
  servesSlot,
  type SlotBeat,
  type SlotStart,
  started,
  wasDoing,
  type WorkerSlot,
} from '../domain/worker-slot.ts';
import type { Tx } from '../store/store.ts';
import { audit } from './audit.ts';
import type { ChangeSet } from './change-set.ts';
import type { Core } from './core.ts';
import type { Workers } from './engine.ts';

export function workersOf(core: Core): Workers {
  const { read } = core.store;
  return {
    staleMs: core.workers.staleMs,
    heartbeatsFile: core.workers.heartbeatsFile,
    list: async (actor) => (await read.workers.all()).filter(({ slot }) => servesSlot(actor, slot)),
    get: async (slot) => (await read.workers.bySlot(slot)) ?? notFound(slot),
    start: async (actor, start) => {
      check(actor, start.slot, start.metadata);
      const answer = await core.flusher.transact(actor, (tx, changeSet) =>
        take(core, tx, changeSet, actor, start),
      );
      core.hints.beaten();
      return answer;
    },
    beat: async (actor, beat) => {
      check(actor, beat.slot, beat.metadata);
      const slot = await core.flusher.transact(actor, async (tx, changeSet) => {
        const { now } = changeSet;
        const known = await tx.workers.lock(beat.slot);
        if (known === null) return notFound(beat.slot);
        if (known.instance !== beat.instance || known.takenBy !== actor.name) throw taken(known, now);
        await checkTask(tx, actor, known, beat);
        const next = beaten(known, beat, now);
        checkMetadata(next.metadata, 'with what it said before');
        await tx.workers.save(next);
        await renewTask(core, tx, changeSet, actor, beat);
        return next;
      });
      core.hints.beaten();
      return slot;
    },
    drain: (actor, slot, draining) =>
      core.flusher.transact(actor, async (tx, changeSet) => {
        const known = await lockOwn(tx, actor, slot);
        const next = { ...known, draining };
        await tx.workers.save(next);
        for (const { slot: further } of await tx.workers.all()) {
          const one = further === slot || baseSlot(further) !== slot ? null : await tx.workers.lock(further);
          if (one !== null) await tx.workers.save({ ...one, draining });
        }
        await audit(tx, changeSet, actor, draining ? 'worker.drain' : 'worker.resume', slot);
        return next;
      }),
    remove: (actor, slot) =>
      core.flusher.transact(actor, async (tx, changeSet) => {
        const known = await lockOwn(tx, actor, slot);
        if (known.status !== 'offline') {
          const problem = `${slot} is ${known.status}: stop its worker first.`;
          throw new SpineError('conflict', { slot, problem });
        }
        await tx.workers.remove(slot);
        await audit(tx, changeSet, actor, 'worker.remove', slot);
      }),
  };
}

type Metadata = WorkerSlot['metadata'];

function check(actor: Actor, slot: string, metadata: Metadata): void {
  if (!servesSlot(actor, slot)) throw new SpineError('forbidden', { target: slot });
  checkMetadata(metadata, 'as JSON');
}

function checkMetadata(metadata: Metadata, how: string): void {
  if (Buffer.byteLength(JSON.stringify(metadata)) <= LIMITS.slotMetadataBytes) return;
  const problem = `metadata must take at most ${LIMITS.slotMetadataBytes} bytes ${how}.`;
  throw new SpineError('bad_request', { field: 'metadata', problem });
}

async function lockOwn(tx: Tx, actor: Actor, slot: string): Promise<WorkerSlot> {
  if (!servesSlot(actor, slot)) throw new SpineError('forbidden', { target: slot });
  return (await tx.workers.lock(slot)) ?? notFound(slot);
}

/** A worker tells of its own claims only. What it has told of already may have ended since. */
async function checkTask(
  tx: Tx,
  actor: Actor,
  known: WorkerSlot,
  { jobId, attempt }: SlotBeat,
): Promise<void> {
  if (jobId === null || (jobId === known.jobId && attempt === known.attempt)) return;
  const job = await tx.jobs.byId(jobId);
  if (job === null) {
    const message = `task names ${JSON.stringify(jobId)}, which is no task.`;
    throw new SpineError('bad_request', { field: 'task' }, { message });
  }
  if (!mayTouch(actor, job)) throw new SpineError('forbidden', { target: job.target });
  if (job.state === 'running' && job.attempts === attempt && job.claimedBy !== actor.name)
    throw new SpineError('not_owner', { claimedBy: job.claimedBy });
}

/** Whoever takes tasks by their status has a long lease, until it shows that it sends heartbeats of its slot. */
async function renewTask(
  core: Core,
  tx: Tx,
  changeSet: ChangeSet,
  actor: Actor,
  { jobId, attempt }: SlotBeat,
): Promise<void> {
  const spanMs = core.workers.staleMs;
  const own = { takenBy: actor.name };
  const seen = jobId === null ? null : await tx.jobs.byId(jobId);
  // Most workers renew their leases themselves: those are not locked.
  if (seen === null || !livesByBeats(own, seen, attempt, spanMs)) return;
  const [job] = await tx.jobs.lock([seen.id]);
  if (job === undefined || !livesByBeats(own, job, attempt, spanMs)) return;
  const beat = { kind: 'heartbeat', id: job.id, actor, leaseToken: null, progress: null, spanMs } as const;
  changeSet.apply(decide(changeSet.load(job), beat, changeSet.now), actor);
}

/** Whoever had the slot before is gone: what it held goes back before the slot is anybody's again. */
async function take(core: Core, tx: Tx, changeSet: ChangeSet, actor: Actor, start: SlotStart) {
  const { now } = changeSet;
  const known = await tx.workers.lock(start.slot);
  if (known === null) await checkRoom(tx, actor, start.slot);
  if (known !== null && isTaken(known, start, core.workers.staleMs, now)) throw taken(known, now);
  const slot = started(known, start, actor.name, now);
  await tx.workers.save(slot);
  const recovered = known === null ? null : await giveBack(tx, changeSet, actor, known, recovery(known, now));
  return { slot, recovered: recovered?.id ?? null };
}

/** One token of a worker leaves room for the others. */
async function checkRoom(tx: Tx, actor: Actor, slot: string): Promise<void> {
  const { workerSlots, workerSlotsEach } = LIMITS;
  if ((await tx.workers.count()) >= workerSlots) {
    const problem = `There are ${workerSlots} slots already; remove some that are offline.`;
    throw new SpineError('conflict', { slot, problem });
  }
  if (actor.role === 'head' || (await tx.workers.countTakenBy(actor.name)) < workerSlotsEach) return;
  const problem = `${actor.name} has ${workerSlotsEach} slots already; have head remove some that are offline.`;
  throw new SpineError('conflict', { slot, problem });
}

function recovery({ sessionId }: WorkerSlot, now: number): Readonly<Record<string, unknown>> {
  return { crashRecovery: true, previousSession: sessionId, recoveredAt: now };
}

/**
 * Takes back the very claim that the slot told of; where it is over, and the job waits, what is to be said of it is said
 * all the same. What has ended meanwhile, is somebody else's by now, or nothing that the actor may touch, is left as it is.
 */
export async function giveBack(
  tx: Tx,
  changeSet: ChangeSet,
  actor: Actor,
  slot: WorkerSlot,
  metadata: Readonly<Record<string, unknown>> | null,
): Promise<Job | null> {
  const [job] = slot.jobId === null ? [] : await tx.jobs.lock([slot.jobId]);
  if (job === undefined || !mayTouch(actor, job)) return null;
  const on = { id: job.id, actor: SYSTEM };
  if (isDoing(slot, job)) {
    const expired = decide(changeSet.load(job), { kind: 'expire', ...on, orphaned: true }, changeSet.now);
    changeSet.apply(expired, SYSTEM);
    if (metadata === null) return expired.job;
  } else if (metadata === null || !wasDoing(slot, job)) return null;
  const edit: Edit = {
    kind: 'edit',
    ...on,
    metadata: JSON.stringify(metadata),
    review: null,
    note: null,
    onlyIf: null,
  };
  const told = decide(changeSet.load(job), edit, changeSet.now);
  changeSet.apply(told, SYSTEM);
  return told.job;
}

function taken({ slot, status, lastUpdate, metadata }: WorkerSlot, now: number): SpineError {
  const problem = `${slot} belongs to another process, which was heard from ${now - lastUpdate} ms ago.`;
  const { workerPid, host } = metadata;
  return new SpineError('conflict', { slot, status, workerPid, host, lastUpdate, problem });
}

function notFound(slot: string): never {
  throw new SpineError('not_found', { id: slot });
}
