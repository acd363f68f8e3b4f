/** A slot: the name under which one worker process at a time works, and what it last said of itself. */

import type { Actor } from './command.ts';
import type { Job } from './job.ts';
import { serves } from './lease.ts';

export const SLOT_STATUSES = ['idle', 'working', 'offline'] as const;
export type SlotStatus = (typeof SLOT_STATUSES)[number];

export interface WorkerSlot {
  readonly slot: string;
  readonly status: SlotStatus;
  /** The process that has the slot: nobody else's heartbeat counts. */
  readonly instance: string;
  /** Whose token it took the slot with: its claims are made in this name, too. */
  readonly takenBy: string;
  /** The job that it works on, and by which of its claims. */
  readonly jobId: string | null;
  readonly attempt: number | null;
  readonly title: string | null;
  readonly sessionId: string | null;
  /** What the slot's last process may have left running; whoever has the slot next ends it before its first heartbeat. */
  readonly leftSession: string | null;
  readonly lastUpdate: number;
  readonly startedAt: number;
  /** How often the slot was started again. */
  readonly restartCount: number;
  /** Somebody wants it to take nothing new. */
  readonly draining: boolean;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** What the process behind a slot says of itself, as it begins. */
export interface SlotStart {
  readonly slot: string;
  readonly instance: string;
  /** The instance that is known to be gone: the slot is taken over from it at once. */
  readonly gone: string | null;
  readonly metadata: Readonly<Record<string, unknown>>;
}

export interface SlotBeat {
  readonly slot: string;
  readonly instance: string;
  readonly status: SlotStatus;
  readonly jobId: string | null;
  readonly attempt: number | null;
  readonly title: string | null;
  readonly sessionId: string | null;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** A worker that does several tasks at once has a slot for each: `slot-1`, `slot-1.2`, `slot-1.3`. */
export function baseSlot(slot: string): string {
  return slot.replace(/\.\d+$/, '');
}

/** Whether this actor may see the slot, and work under its name. */
export function servesSlot(actor: Pick<Actor, 'targets'>, slot: string): boolean {
  return serves(actor, slot) || serves(actor, baseSlot(slot));
}

/** The job runs under the claim that the slot tells of, and the slot's own worker made that claim. */
export function isDoing({ jobId, attempt, takenBy }: WorkerSlot, job: Job): boolean {
  return job.id === jobId && job.state === 'running' && job.attempts === attempt && job.claimedBy === takenBy;
}

/** A task that was taken by its status: its holder sends heartbeats of its slot, if any. */
export function livesByBeats(
  { takenBy }: Pick<WorkerSlot, 'takenBy'>,
  job: Job,
  attempt: number | null,
  staleMs: number,
): boolean {
  if (job.state !== 'running' || job.attempts !== attempt || job.claimedBy !== takenBy) return false;
  if (job.leasePolicy !== 'own' || job.claimId !== null || job.tokenUsed) return false;
  // One that was asked to be shorter stays so.
  return job.leaseSpanMs !== null && job.leaseSpanMs >= staleMs;
}

/** The claim that the slot tells of is over, and the job has waited for another one since. */
export function wasDoing({ jobId, attempt }: WorkerSlot, job: Job): boolean {
  return job.id === jobId && job.state === 'queued' && job.attempts === attempt;
}

/** Whether a session is the slot's own: its worker asked for it, or gave it the label of the slot's sessions. */
export function isSessionOf(
  worker: WorkerSlot,
  { label, createdBy }: { readonly label: string; readonly createdBy: string },
): boolean {
  return createdBy === worker.takenBy || isLabelOf(worker, label);
}

/** The slot's worker gives its sessions labels that begin like this. */
export function isLabelOf({ slot }: WorkerSlot, label: string): boolean {
  const beginning = `agent:main:worker-${slot}:`;
  // Another slot may be called the same, with a colon and more behind it.
  return label.startsWith(beginning) && !label.slice(beginning.length).includes(':');
}

/** Silent for too long, and nobody said that it would be. */
export function isStale({ status, lastUpdate }: WorkerSlot, staleMs: number, now: number): boolean {
  return status !== 'offline' && now - lastUpdate > staleMs;
}

/** Another process has the slot and is alive, as far as anybody knows. */
export function isTaken(known: WorkerSlot, start: SlotStart, staleMs: number, now: number): boolean {
  if (known.instance === start.instance || known.instance === start.gone) return false;
  return known.status !== 'offline' && !isStale(known, staleMs, now);
}

export function started(
  known: WorkerSlot | null,
  start: SlotStart,
  takenBy: string,
  now: number,
): WorkerSlot {
  const { slot, instance, metadata } = start;
  // Whoever did not hear the answer asks again.
  const again = known?.instance === instance ? known : null;
  return {
    slot,
    status: 'idle',
    instance,
    takenBy,
    jobId: null,
    attempt: null,
    title: null,
    sessionId: null,
    leftSession: known === null ? null : leftBy(known),
    lastUpdate: now,
    startedAt: again?.startedAt ?? now,
    restartCount: again?.restartCount ?? (known === null ? 0 : known.restartCount + 1),
    draining: known?.draining ?? false,
    metadata,
  };
}

/** What is said of the process itself stays; of the last task or end nothing does. Whoever leaves may leave a session. */
export function beaten(known: WorkerSlot, beat: SlotBeat, now: number): WorkerSlot {
  const { offlineReason: _, detectedAt: __, taskStartedAt: ___, ...own } = known.metadata;
  const left = beat.status === 'offline' ? beat.sessionId : null;
  const session = left === null ? { leftSession: null } : { sessionId: null, leftSession: left };
  return { ...known, ...beat, ...session, lastUpdate: now, metadata: { ...own, ...beat.metadata } };
}

/** The watchdog's word about a worker that was not heard from. */
export function foundStale(known: WorkerSlot, now: number): WorkerSlot {
  const { taskStartedAt: _, ...own } = known.metadata;
  const metadata = { ...own, offlineReason: 'stale-heartbeat', detectedAt: now };
  const nothing = { jobId: null, attempt: null, title: null, sessionId: null };
  return { ...known, status: 'offline', ...nothing, leftSession: leftBy(known), metadata };
}

function leftBy({ sessionId, leftSession }: WorkerSlot): string | null {
  return sessionId ?? leftSession;
}

/** As everybody outside sees it. */
export function slotView(slot: WorkerSlot) {
  const { jobId, title, leftSession, restartCount, draining } = slot;
  // What only the server says of a slot is nothing that its worker can say, though it may send back what it read.
  const { draining: _, leftSession: __, ...metadata } = slot.metadata;
  const isOff = slot.status === 'offline';
  return {
    slot: slot.slot,
    status: slot.status,
    task: jobId,
    taskTitle: title,
    sessionId: slot.sessionId,
    lastUpdate: slot.lastUpdate,
    startedAt: slot.startedAt,
    metadata: {
      ...metadata,
      workerPid: isOff ? null : (metadata['workerPid'] ?? null),
      restartCount,
      ...(draining && { draining }),
      ...(leftSession !== null && { leftSession }),
    },
  };
}
