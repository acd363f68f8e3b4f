/** Completes what a caller described: ids, defaults, the type's number and schema. */

import type { Actor, ApprovalTerms, NewJob } from '../domain/command.ts';
import { SpineError } from '../domain/error.ts';
import { type JobType, lineageRetries, newTypeProblem } from '../domain/job-type.ts';
import { unsizedPool } from '../domain/pool.ts';
import { Meter } from '../domain/schema/check.ts';
import { inputOf } from '../domain/job-input.ts';
import { draftedRow } from '../domain/new-job.ts';
import { scored } from '../domain/scoring.ts';
import { APPROVAL_TIMEOUT_S } from '../domain/schedule-fields.ts';
import { LIMITS } from '../domain/limits.ts';
import type { Core } from './core.ts';
import type { JobDraft } from './engine.ts';
import { typeNamed, unknownType } from './naming-types.ts';

export class JobDrafts {
  readonly #core: Core;

  constructor(core: Core) {
    this.#core = core;
  }

  async complete(actor: Actor, drafts: readonly JobDraft[]): Promise<NewJob[]> {
    const now = this.#core.now();
    const jobs: NewJob[] = [];
    // One for all of them: a batch may not cost more than a single job.
    const meter = new Meter();
    for (const [i, draft] of drafts.entries()) {
      const prefix = drafts.length > 1 ? `jobs[${i}].` : '';
      const type = await this.#typeOf(actor, draft, now, prefix);
      checkTries(draft, prefix);
      checkTimes(draft, prefix);
      const field = `${prefix}params`;
      if (type !== null && type.paramsSchema !== null)
        await this.checkParams(actor, type, draft.params ?? {}, field, meter);
      if (draft.pool !== undefined) await this.#ensurePool(actor, draft.pool, now);
      jobs.push(this.#completed(draft, type, now));
    }
    return jobs;
  }

  #completed(draft: JobDraft, type: JobType | null, now: number): NewJob {
    const { settings, ids } = this.#core;
    const mode = draft.retry?.mode ?? 'requeue';
    const typesMax = lineageRetries(type);
    // A job that may run twice may be followed once, where its door makes each retry a job of its own.
    const ownMax = draft.maxAttempts === undefined ? typesMax : draft.maxAttempts - 1;
    const retryMax = draft.retry?.max ?? (mode === 'lineage' ? typesMax : ownMax);
    // Each member of a lineage runs once; a job that is requeued runs as often as its limit says.
    const stated = draft.retry?.max ?? type?.maxRetries ?? null;
    const attempts =
      mode === 'lineage'
        ? 1
        : stated === null
          ? settings.maxAttempts
          : Math.min(stated + 1, LIMITS.maxAttempts);
    const readyAt = Math.max(now, draft.runAt ?? now);
    const standing = { priority: draft.priority ?? 0, tags: draft.tags ?? [], readyAt };
    const { priority, ...points } = scored(type?.scoring ?? null, standing, now);
    return {
      id: ids.jobId(now),
      points,
      asked: {
        ...draftedRow(draft),
        priority,
        typeNo: type?.no ?? 0,
        target: draft.target,
        runAt: draft.runAt ?? null,
        maxAttempts: draft.maxAttempts ?? attempts,
        leaseMs: draft.leaseMs ?? settings.leaseMs,
        retryMode: mode,
        retryMax,
        backoffMs: draft.retry?.backoffMs ?? type?.backoffMs ?? null,
      },
      parentId: draft.parentId ?? null,
      after: (draft.after ?? []).map(({ job, on }) => ({ id: job, on: on ?? 'success' })),
      approvalTerms: approvalTermsOf(draft.approval),
      input: inputOf(draft),
    };
  }

  async checkParams(
    actor: Actor,
    type: JobType,
    params: unknown,
    field: string,
    meter: Meter,
  ): Promise<void> {
    if (type.paramsSchema === null) return;
    await this.#core.longWork.run(actor, () => this.#checkParams(type, params, field, meter));
  }

  #checkParams({ name, paramsSchema }: JobType, params: unknown, field: string, meter: Meter): void {
    if (paramsSchema === null) return;
    const mismatch = this.#core.schemas.mismatch(paramsSchema, params, meter);
    if (mismatch === null) return;
    const { kind, why } = mismatch;
    if (kind === 'unusable')
      throw new SpineError('conflict', {
        type: name,
        problem: `type ${name} was stored with a paramsSchema that cannot be used: ${why}; save the type again`,
      });
    const advice = kind === 'costly' ? '; send less at once, or give the type a simpler schema' : '';
    const problem = `${field} does not fit type ${name}: ${why}${advice}`;
    throw new SpineError('bad_request', { field, problem });
  }

  async #typeOf(
    actor: Actor,
    { type: name, newType = false }: JobDraft,
    now: number,
    prefix: string,
  ): Promise<JobType | null> {
    if (name === undefined) return null;
    const types = await this.#core.types();
    const known = types.get(name) ?? (await this.#elsewhere(name));
    if (known !== null) return known;
    // Looked at here already, so that a typo costs no transaction.
    const problem = newTypeProblem(name, [...types.values()], newType);
    if (problem !== null)
      throw unknownType(problem, {
        prefix,
        otherwise: newType ? '' : ', or send newType: true with the job',
      });
    const made = await this.#core.flusher.transact(actor, (tx) => typeNamed(tx, name, now, newType));
    this.#core.forgetTypes();
    return made;
  }

  /** Another server may have made it just now. */
  async #elsewhere(name: string): Promise<JobType | null> {
    const type = await this.#core.store.read.types.named(name);
    if (type !== null) this.#core.forgetTypes();
    return type;
  }

  async #ensurePool(actor: Actor, name: string, now: number): Promise<void> {
    const { knownPools, flusher } = this.#core;
    if (knownPools.has(name)) return;
    await flusher.transact(actor, async (tx) => tx.pools.ensure(unsizedPool(name), now));
    knownPools.add(name);
  }
}

function checkTimes({ runAt, startBefore }: JobDraft, prefix: string): void {
  if (runAt === undefined || startBefore === undefined || runAt < startBefore) return;
  const message = `${prefix}startBefore must be later than ${prefix}runAt, or nobody could take the job in time.`;
  throw new SpineError('bad_request', { field: `${prefix}startBefore` }, { message });
}

/** Of a job that is requeued both say how often it runs; one of them would be ignored. */
function checkTries({ retry, maxAttempts }: JobDraft, prefix: string): void {
  if (retry?.mode === 'lineage' || retry?.max === undefined || maxAttempts === undefined) return;
  if (maxAttempts === retry.max + 1) return;
  const message = `${prefix}maxAttempts must be ${prefix}retry.max + 1 when the same job runs again; send one of them.`;
  throw new SpineError('bad_request', { field: `${prefix}maxAttempts` }, { message });
}

function approvalTermsOf(approval: JobDraft['approval']): ApprovalTerms | null {
  if (approval === undefined) return null;
  const { timeoutS = APPROVAL_TIMEOUT_S, auto = 'reject' } = approval;
  return { timeoutMs: timeoutS * 1_000, auto };
}
