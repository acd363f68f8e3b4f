/** Completes what a caller described: ids, defaults, the type's number and schema. */

import { LINEAGE_RETRIES } from '../domain/child-job.ts';
import type { Actor, Gate, NewJob } from '../domain/command.ts';
import { SpineError } from '../domain/error.ts';
import { Meter } from '../domain/schema/check.ts';
import type { JobInput } from '../domain/job.ts';
import { APPROVAL_TIMEOUT_S } from '../domain/schedule-fields.ts';
import type { JobType } from '../store/store.ts';
import type { Core } from './core.ts';
import type { JobDraft } from './engine.ts';

export class Drafting {
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
      const type = draft.type === undefined ? null : await this.#typeOf(actor, draft.type, now);
      const field = drafts.length > 1 ? `jobs[${i}].params` : 'params';
      if (type !== null && type.paramsSchema !== null)
        await this.#core.turns.take(actor, () => this.#checkParams(type, draft.params ?? {}, field, meter));
      if (draft.pool !== undefined) await this.#ensurePool(actor, draft.pool, now);
      jobs.push(this.#completed(draft, type?.no ?? 0, now));
    }
    return jobs;
  }

  #completed(draft: JobDraft, typeNo: number, now: number): NewJob {
    const { settings, ids } = this.#core;
    const mode = draft.retry?.mode ?? 'requeue';
    const retryMax = draft.retry?.max ?? LINEAGE_RETRIES;
    // Each member of a lineage runs once; a job that is requeued runs as often as its limit says.
    const attempts =
      mode === 'lineage' ? 1 : draft.retry?.max === undefined ? settings.maxAttempts : draft.retry.max + 1;
    return {
      id: ids.jobId(now),
      typeNo,
      target: draft.target,
      priority: draft.priority ?? 0,
      runAt: draft.runAt ?? null,
      maxAttempts: draft.maxAttempts ?? attempts,
      leaseMs: draft.leaseMs ?? settings.leaseMs,
      timeoutMs: draft.timeoutMs ?? null,
      retryMode: mode,
      retryMax: mode === 'lineage' ? retryMax : 0,
      backoffMs: draft.retry?.backoffMs ?? 0,
      uniqueKey: draft.uniqueKey ?? null,
      pool: draft.pool ?? null,
      concurrencyKey: draft.concurrencyKey ?? null,
      parentId: draft.parentId ?? null,
      scheduleId: null,
      after: (draft.after ?? []).map(({ job, on }) => ({ id: job, on: on ?? 'success' })),
      gate: gateOf(draft.approval),
      input: inputOf(draft),
    };
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

  /** A type that is named for the first time comes into being, so that nothing has to be set up before the first job. */
  async #typeOf(actor: Actor, name: string, now: number): Promise<JobType> {
    const known = (await this.#core.types()).get(name);
    if (known !== undefined) return known;
    const type = { name, label: name, sop: null, paramsSchema: null, onlyIfMissing: true };
    const made = await this.#core.flusher.transact(actor, async (tx) => tx.saveType(type, now));
    this.#core.forgetTypes();
    return made;
  }

  /** A pool that nobody has sized lets one job run at a time. */
  async #ensurePool(actor: Actor, name: string, now: number): Promise<void> {
    const { knownPools, flusher } = this.#core;
    if (knownPools.has(name)) return;
    await flusher.transact(actor, async (tx) => tx.ensurePool({ name, capacity: 1, perKey: 1 }, now));
    knownPools.add(name);
  }
}

function gateOf(approval: JobDraft['approval']): Gate | null {
  if (approval === undefined) return null;
  const { timeoutS = APPROVAL_TIMEOUT_S, auto = 'reject' } = approval;
  return { timeoutMs: timeoutS * 1_000, auto };
}

function inputOf(draft: JobDraft): JobInput {
  return {
    title: draft.title ?? null,
    description: draft.description ?? null,
    spec: jsonOrNull(draft.spec),
    meta: jsonOrNull(draft.meta),
    params: jsonOrNull(draft.params),
    tags: draft.tags ?? [],
    budget: jsonOrNull(draft.budget),
  };
}

function jsonOrNull(value: unknown): string | null {
  return value === undefined || value === null ? null : JSON.stringify(value);
}
