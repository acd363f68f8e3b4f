/** Jobs as cards on a board: one call makes a card, or moves it and adds to what is known of it, all of it or nothing. */

import type { Actor, CreateAnswer, Edit, JobCommand } from '../domain/command.ts';
import { SpineError } from '../domain/error.ts';
import { isFinal, type Job } from '../domain/job.ts';
import { LIMITS } from '../domain/limits.ts';
import { metaFacts } from '../domain/meta.ts';
import { PLAN_NAMES } from '../domain/schedule.ts';
import { HEADS_STEPS, stepsTo, type TaskSpec, taskSpecOf, type TaskStep } from '../domain/task.ts';
import { cancelBelowFirst } from './cancelling.ts';
import { accepted, type Core } from './core.ts';
import { CreationBatch } from './creation-batch.ts';
import type { Jobs, TaskChange, Tasks } from './engine.ts';
import { decideOne } from './flush.ts';
import { JobDrafts } from './job-drafts.ts';
import { refuseWhenFull } from './jobs.ts';
import { tooMuchMetadata } from './metadata-room.ts';

const BLOCKED = 'Blocked.';

export function tasksOf(core: Core, { create }: Pick<Jobs, 'create'>): Tasks {
  const jobDrafts = new JobDrafts(core);
  return {
    make: async (actor, draft, change) => {
      checkMeta(draft.meta);
      // What nothing else is said of shares a commit with others.
      if (isWaiting(change)) return (await create(actor, [draft])).jobs[0] as Job;
      refuseWhenFull(core, 1);
      const jobs = await jobDrafts.complete(actor, [draft]);
      const leaseMs = leaseOf(core, (draft.spec as TaskSpec | undefined)?.timeoutMs);
      const token = core.ids.leaseToken();
      return core.flusher.transact(actor, async (tx, changeSet) => {
        const after = jobs.flatMap((job) => job.after.map(({ id }) => id));
        for (const parent of await tx.jobs.lock(after)) changeSet.loadNamed(parent);
        const command = { kind: 'create', actor, jobs, idempotency: null } as const;
        const [made] = await new CreationBatch(tx, changeSet).create([command]);
        let job = accepted(made as CreateAnswer).jobs[0] as Job;
        const routing = await tx.routing.current();
        for (const move of commandsOf(actor, job, { ...change, metadata: null }, leaseMs, token))
          ({ job } = accepted(await decideOne(tx, changeSet, move, routing)));
        return job;
      });
    },
    change: async (actor, job, asked) => {
      const change = saysCrash(asked) && isFinal(job.state) ? { ...asked, status: null } : asked;
      const input = await core.store.read.jobs.inputOf(job.no);
      checkMetadata(change.metadata);
      if (job.scheduleId !== null) checkPlan(input.meta, change.metadata);
      const leaseMs = leaseOf(core, taskSpecOf(input.spec).timeoutMs);
      const commands = commandsOf(actor, job, change, leaseMs, core.ids.leaseToken());
      if (commands.length === 0) return job;
      await cancelBelowFirst(core, job, commands);
      return core.performTogether(commands);
    },
  };
}

function isWaiting({ status, note }: Pick<TaskChange, 'status' | 'note'>): boolean {
  return (status === null || status === 'todo') && note === null;
}

/** A client that comes back gives up what it left undone; what has ended meanwhile stays as it is. */
function saysCrash({ status, metadata }: TaskChange): boolean {
  return status === 'todo' && metadata?.['crashRecovery'] === true;
}

/** Whoever takes a task by its status sends no heartbeats: it has as long as its session may take. */
function leaseOf({ workers }: Core, timeoutMs: number | undefined): number {
  const { sessionTimeoutMs, sessionTimeoutMaxMs } = workers;
  const wanted = typeof timeoutMs === 'number' ? timeoutMs : sessionTimeoutMs;
  return Math.max(LIMITS.leaseMsMin, Math.min(wanted, sessionTimeoutMaxMs, LIMITS.leaseMsMax));
}

function commandsOf(
  actor: Actor,
  job: Job,
  change: TaskChange,
  leaseMs: number,
  newToken: string,
): JobCommand[] {
  const steps = change.status === null ? [] : stepsTo(change.status, job);
  if (actor.role !== 'head' && steps.some((step) => HEADS_STEPS.includes(step)))
    throw new SpineError('not_owner', { claimedBy: job.claimedBy });
  let leaseToken = actor.leaseToken ?? null;
  const commands: JobCommand[] = [];
  for (const step of steps) {
    if (step === 'pending' || step === 'reviewed') continue;
    commands.push(commandOf(step, { id: job.id, actor }, change, leaseToken, { leaseMs, newToken }));
    if (step === 'claim') leaseToken = newToken;
  }
  const edit = editOf(actor, job, change, steps, commands);
  return edit === null ? commands : [...commands, edit];
}

type MovingStep = Exclude<TaskStep, 'pending' | 'reviewed'>;

function commandOf(
  step: MovingStep,
  on: { readonly id: string; readonly actor: Actor },
  { metadata, note }: TaskChange,
  leaseToken: string | null,
  { leaseMs, newToken }: { readonly leaseMs: number; readonly newToken: string },
): JobCommand {
  switch (step) {
    case 'claim': {
      const offer = { token: newToken, leaseMs, policy: 'own', claimId: null, capabilities: [] } as const;
      return { kind: 'claim', ...on, offer };
    }
    case 'complete':
      return { kind: 'complete', ...on, leaseToken, result: note === null ? null : JSON.stringify(note) };
    case 'fail': {
      const message = metadata?.['errorReason'] ?? note ?? BLOCKED;
      const error = JSON.stringify({ ...failureFacts(metadata), message });
      return { kind: 'fail', ...on, leaseToken, error, requeue: false, cause: null, spread: null };
    }
    case 'release':
      return { kind: 'release', ...on, leaseToken, reason: note };
    case 'cancel':
      return { kind: 'cancel', ...on, reason: reasonOf(metadata) ?? note ?? BLOCKED };
    case 'retry':
      return { kind: 'retry', ...on };
  }
}

function failureFacts(metadata: TaskChange['metadata']): object {
  const { sessionId, failedAt } = metadata ?? {};
  return { ...(sessionId !== undefined && { sessionId }), ...(failedAt !== undefined && { failedAt }) };
}

/** As much of it as a reason may be; all of it is in the metadata. */
function reasonOf(metadata: TaskChange['metadata']): string | null {
  const reason = metadata?.['errorReason'];
  return typeof reason === 'string' && reason !== '' ? reason.slice(0, LIMITS.reasonChars) : null;
}

function editOf(
  actor: Actor,
  { id }: Job,
  { metadata, note }: TaskChange,
  steps: readonly TaskStep[],
  refusedWith: readonly JobCommand[],
): Edit | null {
  const review = steps.includes('pending') ? 'pending' : steps.includes('reviewed') ? 'none' : null;
  if (metadata === null && review === null && note === null) return null;
  return {
    kind: 'edit',
    id,
    actor,
    metadata: metadata === null ? null : JSON.stringify(metadata),
    review,
    note,
    onlyIf: refusedWith.at(-1) ?? null,
    refusedWith,
  };
}

/** What a task begins with leaves room for what is said of it later. */
function checkMeta(meta: unknown): void {
  const limit = LIMITS.metaBytes - LIMITS.metadataBytes;
  if (meta === undefined || Buffer.byteLength(JSON.stringify(meta)) <= limit) return;
  throw new SpineError('bad_request', tooMuchMetadata(limit, 'with all fields that Spine does not know'));
}

function checkMetadata(metadata: TaskChange['metadata']): void {
  if (metadata === null || Buffer.byteLength(JSON.stringify(metadata)) <= LIMITS.metadataBytes) return;
  throw new SpineError('bad_request', tooMuchMetadata(LIMITS.metadataBytes, 'in one call'));
}

/** The plan of a run says where its answers and questions go: only the scheduler writes it. A client may send it back as it is. */
function checkPlan(meta: string | null, metadata: TaskChange['metadata']): void {
  const plan = metaFacts(meta);
  for (const name of PLAN_NAMES) {
    const said = metadata?.[name];
    if (said === undefined || JSON.stringify(said) === JSON.stringify(plan[name])) continue;
    const problem = `metadata.${name} is the plan of this run, which its schedule has said; leave it out.`;
    throw new SpineError('bad_request', { field: `metadata.${name}`, problem });
  }
}
