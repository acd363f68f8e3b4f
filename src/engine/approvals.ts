/** Somebody agrees to a job or refuses it; the first word counts. */

import { loopActor } from '../domain/actor.ts';
import { admit } from '../domain/admit.ts';
import type { ApprovalRecord, Approval } from '../domain/approval.ts';
import type { Actor } from '../domain/command.ts';
import { SpineError } from '../domain/error.ts';
import type { EventDraft } from '../domain/event.ts';
import type { Job } from '../domain/job.ts';
import { finish } from '../domain/retry.ts';
import type { Tx } from '../store/store.ts';
import { audit } from './audit.ts';
import type { ChangeSet } from './change-set.ts';
import type { Core } from './core.ts';
import type { Approvals, Verdict } from './engine.ts';

export function approvalsOf(core: Core): Approvals {
  const { store } = core;
  const get = async (id: string): Promise<ApprovalRecord> => {
    const job = await store.read.jobs.byId(id);
    const approval = job === null ? null : await store.read.approvals.asked(job.no);
    if (approval === null) throw new SpineError('not_found', { id });
    return approval;
  };
  return {
    list: async (filter) => store.read.approvals.list(filter),
    get,
    resolve: async (actor, id, verdict) => {
      const approval = await get(id);
      if (verdict.hash !== undefined && verdict.hash !== approval.hash)
        throw new SpineError('conflict', {
          id,
          problem: 'The hash is not that of what waits for approval; read it again.',
          hash: approval.hash,
        });
      await resolve(core, actor, approval.jobNo, verdict, verdict.by);
      return get(id);
    },
    resolveOf: async (actor, scheduleId, verdict) => {
      const [oldest] = (
        await store.read.approvals.list({ status: 'pending', scheduleId, limit: 1_000 })
      ).toReversed();
      if (oldest === undefined)
        throw new SpineError('conflict', {
          id: scheduleId,
          problem: 'None of its runs waits for an approval.',
        });
      await resolve(core, actor, oldest.jobNo, verdict, verdict.by);
      return get(oldest.jobId);
    },
  };
}

/** The time is up: the approval's own terms decide, unless somebody was faster. */
export async function timeOutApproval(core: Core, jobNo: number, auto: Approval['auto']): Promise<void> {
  try {
    await resolve(core, loopActor('timeout'), jobNo, { agree: auto === 'approve', notes: null }, 'timeout');
  } catch (error) {
    if (!(error instanceof SpineError && error.code === 'conflict')) throw error;
  }
}

async function resolve(
  core: Core,
  actor: Actor,
  jobNo: number,
  { agree, notes }: Pick<Verdict, 'agree' | 'notes'>,
  by: string,
): Promise<void> {
  await core.flusher.transact(actor, (tx, changeSet) =>
    decideApproval(tx, changeSet, actor, jobNo, { agree, notes, by }),
  );
}

/** Within a transaction. `by` is who counts as having decided. */
export async function decideApproval(
  tx: Tx,
  changeSet: ChangeSet,
  actor: Actor,
  jobNo: number,
  { agree, notes, by }: Pick<Verdict, 'agree' | 'notes'> & { readonly by: string },
): Promise<void> {
  const [found] = await tx.jobs.lockByNo([jobNo]);
  const approval = await tx.approvals.lock(jobNo);
  if (found === undefined || approval === null) throw new SpineError('not_found', { id: String(jobNo) });
  const job = changeSet.load(found);
  if (approval.status !== 'pending' || job.state !== 'awaiting_approval')
    throw new SpineError('conflict', {
      id: job.id,
      problem: decidedAlready(approval),
      status: approval.status,
      resolved_by: approval.resolvedBy,
    });
  const late = by === 'timeout' && !agree;
  const status = agree ? 'approved' : late ? 'timed_out' : 'rejected';
  await tx.approvals.resolve(jobNo, { status, resolvedAt: changeSet.now, resolvedBy: by, notes });
  const { next, event } = agree
    ? approved(job, actor, notes, changeSet.now)
    : refused(job, actor, notes, late, changeSet.now);
  changeSet.amend(next, [event]);
  if (actor.role !== 'system')
    await audit(tx, changeSet, actor, agree ? 'approval.approve' : 'approval.reject', job.id, { notes });
}

function decidedAlready({ status, resolvedBy }: Approval): string {
  return `It was decided already: ${status}${resolvedBy === null ? '' : ` by ${resolvedBy}`}.`;
}

interface Decided {
  readonly next: Job;
  readonly event: EventDraft;
}

function approved(job: Job, actor: Actor, notes: string | null, now: number): Decided {
  const next: Job = { ...job, approval: 'given', updatedAt: now };
  next.state = admit(next, now);
  return { next, event: { kind: 'job.approved', by: actor.name, facts: { notes, state: next.state } } };
}

function refused(job: Job, actor: Actor, notes: string | null, late: boolean, now: number): Decided {
  const next: Job = {
    ...job,
    reason: notes ?? (late ? 'nobody approved it in time' : 'it was not approved'),
  };
  finish(next, 'cancelled', now);
  return { next, event: { kind: 'job.rejected', by: actor.name, facts: { reason: next.reason } } };
}
