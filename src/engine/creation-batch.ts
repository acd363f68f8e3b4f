/** Turns create commands into rows: keys, dependencies, parents and limits are judged against what the flush has locked. */

import { admit, dependencyMet } from '../domain/admit.ts';
import type {
  Actor,
  Create,
  CreateAnswer,
  Dependency,
  DependencyOn,
  ApprovalTerms,
  NewJob,
} from '../domain/command.ts';
import { type Refusal, refuse } from '../domain/error.ts';
import { isFinal, type Job, OPEN, rootOf, SETTLED } from '../domain/job.ts';
import { mayTouch, serves } from '../domain/lease.ts';
import { LIMITS } from '../domain/limits.ts';
import { LAPSED } from '../domain/lapse.ts';
import { newJob, type NewJobRow } from '../domain/new-job.ts';
import { wasRetried } from '../domain/retry.ts';
import type { NewRow, Tx } from '../store/store.ts';
import { newApproval } from './new-approval.ts';
import type { ChangeSet } from './change-set.ts';

interface Edge {
  readonly parentNo: number;
  readonly on: DependencyOn;
  readonly met: boolean;
}
interface Draft {
  readonly row: NewRow;
  readonly approvalTerms: ApprovalTerms | null;
  readonly edges: readonly Edge[];
}
type Planned = { readonly drafts: readonly Draft[] } | CreateAnswer;

export class CreationBatch {
  readonly #tx: Tx;
  readonly #changeSet: ChangeSet;
  /** Keys taken by earlier commands of the same flush, which the database cannot show yet. */
  readonly #uniqueKeys = new Map<string, string>();
  readonly #idempotent = new Map<string, { bodyHash: string; at: number }>();
  readonly #children = new Map<number, number>();
  readonly #trees = new Map<number, { topNo: number; depth: number }>();
  readonly #sizes = new Map<number, number>();

  constructor(tx: Tx, changeSet: ChangeSet) {
    this.#tx = tx;
    this.#changeSet = changeSet;
  }

  async create(commands: readonly Create[]): Promise<CreateAnswer[]> {
    const plans: Planned[] = [];
    for (const command of commands) plans.push(await this.#plan(command, plans.length));
    const drafts = plans.flatMap((plan) => ('drafts' in plan ? plan.drafts : []));
    const jobs = drafts.length === 0 ? [] : await this.#insert(drafts);
    let next = 0;
    const answers = plans.map((plan): CreateAnswer => {
      if (!('drafts' in plan)) return plan;
      next += plan.drafts.length;
      return { ok: true, jobs: jobs.slice(next - plan.drafts.length, next), replayed: false };
    });
    await this.#remember(commands, answers);
    return answers.map((answer, i) => this.#sameFlush(commands[i] as Create, i, answers) ?? answer);
  }

  async #insert(drafts: readonly Draft[]): Promise<Job[]> {
    const rows = drafts.map((draft) => draft.row);
    const jobs = await this.#changeSet.insert(this.#tx, rows, ({ job }) => ({
      kind: 'job.created',
      by: job.createdBy,
      facts: { target: job.target, state: job.state },
    }));
    await this.#insertApprovals(drafts, jobs);
    const edges = drafts.flatMap((draft, i) =>
      draft.edges.map((edge) => ({ jobNo: (jobs[i] as Job).no, ...edge })),
    );
    if (edges.length > 0) await this.#tx.dependencies.add(edges);
    return jobs;
  }

  async #insertApprovals(drafts: readonly Draft[], jobs: readonly Job[]): Promise<void> {
    for (const [i, { row, approvalTerms }] of drafts.entries()) {
      const job = jobs[i] as Job;
      if (approvalTerms !== null) await this.#tx.approvals.insert(newApproval(job, row.input, approvalTerms));
    }
  }

  async #plan(command: Create, index: number): Promise<Planned> {
    const seen = await this.#seenBefore(command, index);
    if (seen !== null) return seen;
    const drafts: Draft[] = [];
    const keys = new Map<string, string>();
    for (const [i, job] of command.jobs.entries()) {
      const prefix = command.jobs.length > 1 ? `jobs[${i}].` : '';
      const taken = keys.get(keyOf(job.asked));
      const draft =
        taken === undefined
          ? await this.#draft(command, job, prefix)
          : refuse('unique_key_taken', { jobId: taken, uniqueKey: job.asked.uniqueKey });
      if ('ok' in draft) return draft;
      if (job.asked.uniqueKey !== null) keys.set(keyOf(job.asked), job.id);
      drafts.push(draft);
    }
    // Only now: a refused command takes no keys.
    for (const [key, id] of keys) this.#uniqueKeys.set(key, id);
    return { drafts };
  }

  async #draft(command: Create, job: NewJob, prefix: string): Promise<Draft | Refusal> {
    const { typeNo, uniqueKey } = job.asked;
    if (uniqueKey !== null) {
      const taken =
        this.#uniqueKeys.get(keyOf(job.asked)) ?? (await this.#tx.jobs.findUnique(typeNo, uniqueKey));
      if (taken !== null) return refuse('unique_key_taken', { jobId: taken, uniqueKey });
    }
    const parent = await this.#parentOf(command, job, prefix);
    if (parent !== null && 'ok' in parent) return parent;
    const edges: Edge[] = [];
    let skipped = false;
    for (const [i, dependency] of job.after.entries()) {
      const judged = await this.#judge(command.actor, parent, dependency);
      if (judged === null) return refuse('bad_request', badField(`${prefix}after[${i}]`));
      if (edges.some((edge) => edge.parentNo === judged.parentNo)) continue;
      edges.push({ parentNo: judged.parentNo, on: dependency.on, met: judged.ended });
      skipped ||= judged.ended && !judged.met;
    }
    return {
      row: {
        job: newRow(job, command, parent, edges, skipped, this.#changeSet.now),
        input: job.input,
      },
      approvalTerms: job.approvalTerms,
      edges,
    };
  }

  /** A holder may create children, within bounds and never for somebody it could not serve itself. */
  async #parentOf(command: Create, job: NewJob, prefix: string): Promise<Job | Refusal | null> {
    if (job.parentId === null) return null;
    const { actor } = command;
    const parent = this.#changeSet.find(job.parentId);
    if (parent === null || !mayTouch(actor, parent))
      return refuse('bad_request', badField(`${prefix}parentId`));
    if (actor.role === 'worker' || actor.role === 'run') {
      if (parent.state !== 'running' || parent.claimedBy !== actor.name)
        return refuse('not_owner', { claimedBy: parent.claimedBy });
      if (!serves(actor, job.asked.target)) return refuse('forbidden', { target: job.asked.target });
    }
    const children = (this.#children.get(parent.no) ?? (await this.#tx.children.count(parent.no))) + 1;
    this.#children.set(parent.no, children);
    if (children > LIMITS.childrenPerJob)
      return refuse('too_many_children', { limit: LIMITS.childrenPerJob });
    return (await this.#treeProblem(parent)) ?? parent;
  }

  /** A first level is bounded already; below it children could have children for ever. */
  async #treeProblem(parent: Job): Promise<Refusal | null> {
    if (parent.parentNo === null) return null;
    const tree = this.#trees.get(parent.no) ?? (await this.#tx.children.treeAbove(parent.no));
    this.#trees.set(parent.no, tree);
    if (tree.depth >= LIMITS.childDepth)
      return refuse('too_many_children', { depth: tree.depth, limit: LIMITS.childDepth });
    const limit = LIMITS.descendantsPerJob;
    const size = (this.#sizes.get(tree.topNo) ?? (await this.#tx.children.countBelow(tree.topNo, limit))) + 1;
    this.#sizes.set(tree.topNo, size);
    return size > limit ? refuse('too_many_children', { below: tree.topNo, limit }) : null;
  }

  /** How a dependency stands: its lineage has ended one way or the other, or it is still to be waited for. */
  async #judge(
    actor: Actor,
    own: Job | null,
    dependency: Dependency,
  ): Promise<{ parentNo: number; ended: boolean; met: boolean } | null> {
    const parent = this.#changeSet.find(dependency.id);
    // What the caller may not see is answered like what is not there, or it could be asked how it ended.
    if (parent === null || !(mayTouch(actor, parent) || isSibling(actor, own, parent))) return null;
    const last =
      wasRetried(parent) || parent.rootNo !== null
        ? ((await this.#tx.jobs.lastOfLineage(rootOf(parent))) ?? parent)
        : parent;
    // A lineage whose later members are forgotten has long ended; how, only its first can tell.
    const forgotten = last.no === parent.no && wasRetried(parent);
    const ended = isFinal(last.state) && last.settled === SETTLED && (forgotten || !wasRetried(last));
    if (!ended && !parent.watched) this.#changeSet.amend({ ...parent, watched: true });
    return { parentNo: rootOf(parent), ended, met: ended && dependencyMet(dependency.on, last.state) };
  }

  async #seenBefore({ idempotency }: Create, index: number): Promise<CreateAnswer | null> {
    if (idempotency === null) return null;
    const name = `${idempotency.principal}\n${idempotency.key}`;
    const inFlush = this.#idempotent.get(name);
    const stored = inFlush === undefined ? await this.#tx.idempotency.find(idempotency) : null;
    if (inFlush === undefined && stored === null)
      this.#idempotent.set(name, { bodyHash: idempotency.bodyHash, at: index });
    const bodyHash = inFlush?.bodyHash ?? stored?.bodyHash;
    if (bodyHash === undefined) return null;
    if (bodyHash !== idempotency.bodyHash) return refuse('idempotency_conflict', { key: idempotency.key });
    const jobs = stored === null ? [] : await this.#tx.jobs.lock(stored.jobIds);
    return { ok: true, jobs, replayed: true };
  }

  /** The same new key twice in one flush: the second is answered like the first. */
  #sameFlush({ idempotency }: Create, index: number, answers: readonly CreateAnswer[]): CreateAnswer | null {
    if (idempotency === null) return null;
    const first = this.#idempotent.get(`${idempotency.principal}\n${idempotency.key}`);
    if (first === undefined || first.at === index || first.bodyHash !== idempotency.bodyHash) return null;
    const made = answers[first.at] as CreateAnswer;
    return made.ok ? { ...made, replayed: true } : made;
  }

  async #remember(commands: readonly Create[], answers: readonly CreateAnswer[]): Promise<void> {
    const rows = commands.flatMap(({ idempotency }, i) => {
      const answer = answers[i];
      if (idempotency === null || !answer?.ok || answer.replayed) return [];
      return [{ ...idempotency, jobIds: answer.jobs.map((job) => job.id), at: this.#changeSet.now }];
    });
    if (rows.length > 0) await this.#tx.idempotency.remember(rows);
  }
}

/** The children of one job may wait for each other. */
function isSibling(actor: Actor, own: Job | null, other: Job): boolean {
  return own !== null && other.parentNo === own.no && serves(actor, other.target);
}

function badField(field: string): { field: string; problem: string } {
  return { field, problem: `${field} names no job` };
}

function keyOf(job: { typeNo: number; uniqueKey: string | null }): string {
  return `${job.typeNo}\n${job.uniqueKey}`;
}

function newRow(
  job: NewJob,
  { actor }: Create,
  parent: Job | null,
  edges: readonly Edge[],
  skipped: boolean,
  now: number,
): NewJobRow {
  const waitingFor = edges.filter((edge) => !edge.met).length;
  const approval = job.approvalTerms === null ? 'none' : 'needed';
  const { startBefore } = job.asked;
  const runAt = job.asked.runAt ?? now;
  const lapsed = startBefore !== null && startBefore <= now;
  const ended = skipped || lapsed;
  return newJob({
    ...job.asked,
    ...job.points,
    id: job.id,
    createdAt: now,
    createdBy: actor.name,
    parentNo: parent?.no ?? null,
    // What a job asks for belongs to its trace.
    traceparent: job.asked.traceparent ?? parent?.traceparent ?? null,
    state: ended ? 'skipped' : admit({ waitingFor, runAt, approval }, now),
    updatedAt: now,
    settled: ended ? SETTLED : OPEN,
    finishedAt: ended ? now : null,
    reason: skipped ? 'a dependency ended otherwise' : lapsed ? LAPSED : null,
    runAt,
    waitingFor,
    dependencies: edges.length,
    approval,
  });
}
