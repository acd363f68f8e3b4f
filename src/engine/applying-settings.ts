/** Types and pools that stand beside schedules in a set of files. They are made and changed, never removed. */

import type { Actor } from '../domain/command.ts';
import type { JobType, NewType } from '../domain/job-type.ts';
import type { Pool } from '../domain/pool.ts';
import type { FieldChange } from '../domain/schedule-replace.ts';
import type { Tx } from '../store/store.ts';
import { audit } from './audit.ts';
import type { Core } from './core.ts';
import type { Applied, KeptSchedules, TypeDraft } from './engine.ts';
import type { ChangeSet } from './change-set.ts';

interface Context {
  readonly tx: Tx;
  readonly changeSet: ChangeSet;
  readonly actor: Actor;
}

/** What is there, read before the transaction: inside of one a read would wait for it to end. */
export interface KnownSettings {
  readonly types: ReadonlyMap<string, JobType>;
  readonly pools: ReadonlyMap<string, Pool>;
}

export async function knownSettings(core: Core): Promise<KnownSettings> {
  const [types, pools] = await Promise.all([core.types(), core.store.read.pools.all()]);
  return { types, pools: new Map(pools.map((pool) => [pool.name, pool])) };
}

/** Before anything is written: a schema may be no schema. */
export async function settingsProblems(
  { schemas, longWork }: Core,
  actor: Actor,
  { types }: KeptSchedules,
): Promise<{ field: string; problem: string }[]> {
  const problems: { field: string; problem: string }[] = [];
  for (const [index, { paramsSchema = null }] of types.entries()) {
    if (paramsSchema === null) continue;
    const why = await longWork.run(actor, () => schemas.problemWith(paramsSchema));
    if (why === null) continue;
    const problem = `paramsSchema is not a usable JSON Schema: ${why}`;
    problems.push({ field: `types[${index}].paramsSchema`, problem });
  }
  return problems;
}

export async function applySettings(
  at: Context,
  { types, pools }: KeptSchedules,
  known: KnownSettings,
): Promise<Applied[]> {
  const applied: Applied[] = [];
  for (const draft of types) applied.push(await applyType(at, draft, known.types.get(draft.name)));
  for (const pool of pools) applied.push(await applyPool(at, pool, known.pools.get(pool.name)));
  return applied;
}

async function applyType(
  { tx, changeSet, actor }: Context,
  draft: TypeDraft,
  before: JobType | undefined,
): Promise<Applied> {
  const { name, label = draft.name, sop = null, paramsSchema = null, maxRetries = null } = draft;
  const backoffMs = draft.retry?.backoffMs ?? null;
  const schema = paramsSchema === null ? null : JSON.stringify(paramsSchema);
  const { scoring = null, provider = null } = draft;
  const after = { label, sop, paramsSchema: schema, maxRetries, backoffMs, scoring, provider };
  const changes = before === undefined ? [] : changesOf(shown(before), shown(after));
  if (before !== undefined && changes.length === 0) return told('type', name, 'unchanged', changes);
  await audit(tx, changeSet, actor, 'type.save', name);
  await tx.types.save({ name, ...after, onlyIfMissing: false }, changeSet.now);
  return told('type', name, before === undefined ? 'create' : 'change', changes);
}

function shown(type: Omit<NewType, 'name' | 'onlyIfMissing'>) {
  const { label, sop, paramsSchema, maxRetries, backoffMs, scoring, provider } = type;
  const schema = paramsSchema === null ? null : (JSON.parse(paramsSchema) as unknown);
  return { label, sop, paramsSchema: schema, maxRetries, retry: { backoffMs }, scoring, provider };
}

async function applyPool(
  { tx, changeSet, actor }: Context,
  pool: Pool,
  before: Pool | undefined,
): Promise<Applied> {
  const { name, capacity, perKey } = pool;
  const changes =
    before === undefined
      ? []
      : changesOf({ capacity: before.capacity, perKey: before.perKey }, { capacity, perKey });
  if (before !== undefined && changes.length === 0) return told('pool', name, 'unchanged', changes);
  await tx.pools.save(pool, changeSet.now);
  await audit(tx, changeSet, actor, 'pool.save', name, { capacity, perKey });
  // More room lets waiters in at once.
  await changeSet.requeueWaiters(tx, name, capacity);
  return told('pool', name, before === undefined ? 'create' : 'change', changes);
}

function changesOf<T extends Record<string, unknown>>(before: T, after: T): FieldChange[] {
  return Object.keys(after)
    .filter((field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]))
    .map((field) => ({ field, from: before[field] ?? null, to: after[field] ?? null }));
}

function told(
  kind: 'type' | 'pool',
  name: string,
  action: Applied['action'],
  changes: readonly FieldChange[],
): Applied {
  return { kind, name, id: null, action, changes };
}
