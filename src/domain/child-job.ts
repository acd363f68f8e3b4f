/** What the holder of a job may ask for when it creates children. Rights only shrink: nothing goes beyond the parent's. */

import type { ApprovalTerms } from './command.ts';
import { DRAFT_FIELDS, type JobRowDraft } from './job-fields.ts';
import { LINEAGE_RETRIES } from './job-type.ts';
import type { Job } from './job.ts';
import { askedPriority } from './scoring.ts';

/** A field of the draft and what is wrong with it. */
export interface BeyondParent {
  readonly field: string;
  readonly problem: string;
}

/** A draft of a job, as far as it is judged here. */
export interface ChildDraft extends JobRowDraft {
  readonly target: string;
  readonly retry?: {
    readonly mode?: 'requeue' | 'lineage';
    readonly max?: number;
    readonly backoffMs?: number;
  };
  readonly budget?: unknown;
  readonly approval?: { readonly timeoutS?: number; readonly auto?: 'approve' | 'reject' };
}

export interface ParentFacts {
  readonly job: Job;
  /** Those under which it was approved; null when it needed no approval. */
  readonly approvalTerms: ApprovalTerms | null;
  /** As it was written. */
  readonly budget: string | null;
  /** What everybody's jobs have unless they ask for something else. */
  readonly defaults: { readonly leaseMs: number; readonly maxAttempts: number };
}

/** What the work is: the child's own to say, like the fields that the table of job fields marks so. */
const OWN = [
  'parentId',
  'type',
  'title',
  'description',
  'spec',
  'meta',
  'params',
  'tags',
  'after',
  ...DRAFT_FIELDS.flatMap(({ name, asked }) => (asked.child === 'own' ? [name] : [])),
] as const;
/** Judged one by one below. */
const JUDGED = [
  'priority',
  'timeoutMs',
  'leaseMs',
  'maxAttempts',
  'retry',
  'approval',
  'pool',
  'concurrencyKey',
  'budget',
  'announce',
] as const;
const KNOWN: ReadonlySet<string> = new Set([...OWN, ...JUDGED]);

/** The draft with what it takes over from its parent, or the field that reaches beyond it. */
export function childDraft<W extends ChildDraft>(draft: W, parent: ParentFacts): W | BeyondParent {
  const problem = stranger(draft) ?? beyondParent(draft, parent);
  return problem ?? { ...draft, ...takenOver(draft, parent) };
}

/** Where work for people's agents and commands goes. What it may do there is said by its schedule. */
function isHouseTarget(target: string): boolean {
  return target === 'shell' || target.startsWith('gateway:');
}

/** A field that nobody thought of here is refused: a new one must be judged first. */
function stranger(draft: object): BeyondParent | null {
  const field = Object.entries(draft).find(([key, value]) => value !== undefined && !KNOWN.has(key))?.[0];
  return field === undefined
    ? null
    : { field, problem: `${field} may not be set by the holder of a job; leave it out.` };
}

function beyondParent(
  draft: ChildDraft,
  { job, approvalTerms, budget, defaults }: ParentFacts,
): BeyondParent | null {
  const tries = triesOf(job);
  return (
    misplaced(draft.target, job) ??
    above('priority', draft.priority, askedPriority(job)) ??
    above('timeoutMs', draft.timeoutMs, job.timeoutMs) ??
    above('leaseMs', draft.leaseMs, Math.max(job.leaseMs, defaults.leaseMs)) ??
    above('maxAttempts', draft.maxAttempts, tries) ??
    above('retry.max', draft.retry?.max, tries - 1) ??
    other('pool', draft.pool, job.pool) ??
    other('concurrencyKey', draft.concurrencyKey, job.concurrencyKey) ??
    other('budget', draft.budget === undefined ? undefined : JSON.stringify(draft.budget), budget) ??
    louder(draft.announce, job) ??
    looser(draft.approval, approvalTerms)
  );
}

function takenOver(
  draft: ChildDraft,
  { job, approvalTerms, budget, defaults }: ParentFacts,
): Partial<ChildDraft> {
  const tries = triesOf(job);
  const counted = draft.retry?.mode !== 'lineage' && draft.retry?.max === undefined;
  return {
    priority: draft.priority ?? Math.min(0, askedPriority(job)),
    ...(draft.timeoutMs === undefined && job.timeoutMs !== null && { timeoutMs: job.timeoutMs }),
    ...(counted && { maxAttempts: draft.maxAttempts ?? Math.min(defaults.maxAttempts, tries) }),
    ...(draft.retry?.mode === 'lineage' && {
      retry: { ...draft.retry, max: draft.retry.max ?? Math.min(LINEAGE_RETRIES, tries - 1) },
    }),
    ...(job.pool !== null && { pool: job.pool }),
    ...(job.concurrencyKey !== null && { concurrencyKey: job.concurrencyKey }),
    ...(budget !== null && { budget: JSON.parse(budget) as unknown }),
    ...(approvalTerms !== null && draft.approval === undefined && { approval: shownTerms(approvalTerms) }),
  };
}

/** How often the work of this job may be begun in all. */
function triesOf(job: Job): number {
  return job.retryMode === 'lineage' ? job.retryMax + 1 : job.maxAttempts;
}

function misplaced(target: string, parent: Job): BeyondParent | null {
  if (!isHouseTarget(target) || (parent.scheduleId === null && target === parent.target)) return null;
  return {
    field: 'target',
    problem: `target ${target} is not for children of this job; ask for work there with a spawn message.`,
  };
}

function above(field: string, asked: number | undefined, own: number | null): BeyondParent | null {
  if (asked === undefined || asked <= (own ?? Infinity)) return null;
  return {
    field,
    problem: `${field} may not go beyond that of the job that asks, which allows ${own} at most.`,
  };
}

function other(field: string, asked: string | undefined, own: string | null): BeyondParent | null {
  if (asked === undefined || asked === own) return null;
  return { field, problem: `${field} is that of the job that asks (${own ?? 'none'}); leave it out.` };
}

function louder(asked: boolean | undefined, parent: Job): BeyondParent | null {
  if (asked !== true || parent.announce) return null;
  return {
    field: 'announce',
    problem: 'announce may not be set by a job that is not announced itself; leave it out.',
  };
}

/** Nobody's answer may let a child through sooner than its parent, or where the parent would have been turned away. */
function looser(asked: ChildDraft['approval'], approvalTerms: ApprovalTerms | null): BeyondParent | null {
  if (asked === undefined || approvalTerms === null || (asked.auto ?? 'reject') === 'reject') return null;
  if (approvalTerms.auto === 'approve' && (asked.timeoutS ?? 0) * 1_000 >= approvalTerms.timeoutMs)
    return null;
  return {
    field: 'approval',
    problem: `approval may not be looser than that of the job that asks (auto ${approvalTerms.auto}, timeoutS ${approvalTerms.timeoutMs / 1_000}); leave it out.`,
  };
}

function shownTerms({ timeoutMs, auto }: ApprovalTerms) {
  return { timeoutS: timeoutMs / 1_000, auto };
}
