/** Jobs that a worker or a run asks for: each is a child of a job it holds, and has no more than that job has. */

import { childDraft, type ParentFacts } from '../domain/child-job.ts';
import type { Actor, ApprovalTerms } from '../domain/command.ts';
import { SpineError } from '../domain/error.ts';
import { type Job, rootOf } from '../domain/job.ts';
import { mayTouch } from '../domain/lease.ts';
import { APPROVAL_TIMEOUT_S } from '../domain/schedule-fields.ts';
import type { Core } from './core.ts';
import type { JobDraft } from './engine.ts';

/** Whoever may create work of its own is not judged. What a parent was made with never changes, so no lock is needed. */
export async function withinParents(
  core: Core,
  actor: Actor,
  drafts: readonly JobDraft[],
): Promise<readonly JobDraft[]> {
  if (actor.role !== 'worker' && actor.role !== 'run') return drafts;
  const parents = new Map<string, ParentFacts>();
  const judged: JobDraft[] = [];
  for (const [i, draft] of drafts.entries()) {
    const prefix = drafts.length > 1 ? `jobs[${i}].` : '';
    const { parentId } = draft;
    if (parentId === undefined) throw new SpineError('forbidden', { why: 'only children of a job you hold' });
    const parent = parents.get(parentId) ?? (await factsOf(core, actor, parentId, prefix));
    parents.set(parentId, parent);
    judged.push(await withinParent(core, actor, draft, parent, prefix));
  }
  return judged;
}

async function withinParent(
  core: Core,
  actor: Actor,
  draft: JobDraft,
  parent: ParentFacts,
  prefix: string,
): Promise<JobDraft> {
  const judged = childDraft(draft, parent);
  const beyond = 'problem' in judged ? judged : await unknownType(core, draft);
  if (beyond === null) return judged as JobDraft;
  // Whoever does not hold the parent learns nothing of it.
  if (!isHeldBy(parent.job, actor)) throw new SpineError('not_owner', { claimedBy: parent.job.claimedBy });
  const { field, problem } = beyond;
  throw new SpineError('bad_request', { field: `${prefix}${field}`, problem: `${prefix}${problem}` });
}

function isHeldBy({ state, claimedBy }: Job, actor: Actor): boolean {
  return state === 'running' && claimedBy === actor.name;
}

/** A new type would stay for ever; whoever may create only children uses those that are there. */
async function unknownType(core: Core, { type }: JobDraft) {
  if (type === undefined || (await core.types()).has(type)) return null;
  // Another server may have it.
  if ((await core.store.read.types.named(type)) !== null) return null;
  return {
    field: 'type',
    problem: `type ${type} does not exist; leave it out, or let head create it first.`,
  };
}

async function factsOf(core: Core, actor: Actor, parentId: string, prefix: string): Promise<ParentFacts> {
  const { read } = core.store;
  const job = await read.jobs.byId(parentId);
  if (job === null || !mayTouch(actor, job)) {
    const field = `${prefix}parentId`;
    throw new SpineError('bad_request', { field, problem: `${field} names no job` });
  }
  const budget = (await read.details.of([job])).get(job.no)?.input.budget ?? null;
  return { job, approvalTerms: await approvalTermsOf(core, job), budget, defaults: core.settings };
}

/** A retry has the approval of the first of its lineage. */
async function approvalTermsOf(core: Core, job: Job): Promise<ApprovalTerms | null> {
  if (job.approval === 'none') return null;
  const [row] = await core.store.read.approvals.byNo([rootOf(job)]);
  return row ?? { timeoutMs: APPROVAL_TIMEOUT_S * 1_000, auto: 'reject' };
}
