/** Jobs as cards on a board: one call moves a card and adds to what is known of it, all of it or nothing. */

import type { Actor, Edit, JobCommand } from '../domain/command.ts';
import { type Refusal, SpineError } from '../domain/error.ts';
import type { Job } from '../domain/job.ts';
import { LIMITS } from '../domain/limits.ts';
import { HEADS_STEPS, stepsTo, taskSpecOf, type TaskStep } from '../domain/task.ts';
import type { Core } from './core.ts';
import { tooMuchMetadata } from './metadata-room.ts';
import type { TaskChange, Tasks } from './engine.ts';

export function tasksOf(core: Core): Tasks {
  return {
    change: async (actor, job, change) => {
      const input = await core.store.read.jobs.inputOf(job.no);
      checkMetadata(change.metadata);
      const leaseMs = leaseOf(core, taskSpecOf(input.spec).timeoutMs);
      const commands = commandsOf(actor, job, change, leaseMs, core.ids.leaseToken());
      if (commands.length === 0) return job;
      const answers = await core.flusher.submitTogether(commands);
      // Of commands on a job each answer is the job, or a refusal.
      const refusal = (answers as readonly ({ ok: true; job: Job } | Refusal)[]).find(({ ok }) => !ok);
      if (refusal !== undefined && !refusal.ok) throw new SpineError(refusal.code, refusal.details);
      return (answers.at(-1) as { job: Job }).job;
    },
  };
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
      const message = metadata?.['errorReason'] ?? note ?? 'Blocked.';
      const error = JSON.stringify({ ...failureFacts(metadata), message });
      return { kind: 'fail', ...on, leaseToken, error, requeue: false, cause: null, spread: null };
    }
    case 'release':
      return { kind: 'release', ...on, leaseToken, reason: note };
    case 'cancel':
      return { kind: 'cancel', ...on, reason: note ?? 'Blocked.' };
    case 'retry':
      return { kind: 'retry', ...on };
  }
}

function failureFacts(metadata: TaskChange['metadata']): object {
  const sessionId = metadata?.['sessionId'];
  return sessionId === undefined ? {} : { sessionId };
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

function checkMetadata(metadata: TaskChange['metadata']): void {
  if (metadata === null || Buffer.byteLength(JSON.stringify(metadata)) <= LIMITS.metadataBytes) return;
  throw new SpineError('bad_request', tooMuchMetadata(LIMITS.metadataBytes, 'in one call'));
}
