/** Types, pauses and pools: what steers the queue from outside. */

import type { Actor } from '../domain/command.ts';
import { SpineError } from '../domain/error.ts';
import type { JobType, NewType } from '../domain/job-type.ts';
import type { PoolUse } from '../domain/pool.ts';
import { BOT_DOOR } from '../domain/bot.ts';
import type { Pause, PauseKind } from '../domain/routing.ts';
import type { Tx } from '../store/store.ts';
import { audit } from './audit.ts';
import type { ChangeSet } from './change-set.ts';
import type { Core } from './core.ts';
import type { Pools, RoutingVerbs, TypeDraft, Types } from './engine.ts';

export function typesOf(core: Core): Types {
  const { store, flusher, schemas, longWork } = core;
  const judged = async (actor: Actor, draft: TypeDraft): Promise<NewType> => {
    const schema = draft.paramsSchema ?? null;
    const problem = schema === null ? null : await longWork.run(actor, () => schemas.problemWith(schema));
    if (problem !== null)
      throw new SpineError('bad_request', {
        field: 'paramsSchema',
        problem: `paramsSchema is not a usable JSON Schema: ${problem}`,
      });
    return {
      name: draft.name,
      label: draft.label ?? draft.name,
      sop: draft.sop ?? null,
      paramsSchema: schema === null ? null : JSON.stringify(schema),
      maxRetries: draft.maxRetries ?? null,
      backoffMs: draft.retry?.backoffMs ?? null,
      scoring: draft.scoring ?? null,
      provider: draft.provider ?? null,
      onlyIfMissing: false,
    };
  };
  return {
    list: async (afterName, limit) => store.read.types.after(afterName, limit),
    known: () => core.typesByNo(),
    get: async (name) => {
      const type = await store.read.types.named(name);
      if (type === null) throw new SpineError('not_found', { type: name });
      return type;
    },
    save: async (actor, draft) => {
      const type = await judged(actor, draft);
      const saved = await flusher.transact(actor, async (tx, changeSet) => {
        await audit(tx, changeSet, actor, 'type.save', draft.name);
        return tx.types.save(type, changeSet.now);
      });
      core.forgetTypes();
      return saved;
    },
    declare: async (actor, draft) => {
      const type = await judged(actor, draft);
      const made = await flusher.transact(actor, async (tx, changeSet) => {
        await tx.types.lockNames();
        const known = await tx.types.named(draft.name);
        if (known?.declared) throw nameTaken(known);
        await audit(tx, changeSet, actor, 'type.save', draft.name);
        return tx.types.save(type, changeSet.now);
      });
      core.forgetTypes();
      return made;
    },
    retire: async (actor, name) => {
      const retired = await flusher.transact(actor, async (tx, changeSet) => {
        await audit(tx, changeSet, actor, 'type.retire', name);
        return tx.types.retire(name, changeSet.now);
      });
      core.forgetTypes();
      if (retired === null) throw new SpineError('not_found', { type: name });
      return retired;
    },
  };
}

function nameTaken({ name, active }: JobType): SpineError {
  const problem = active
    ? `There is a type ${name} already.`
    : `There was a type ${name}; its name stays with the tasks that have it. Use another.`;
  return new SpineError('conflict', { field: 'name', type: name, problem });
}

export function routingOf(core: Core): RoutingVerbs {
  const set = async (actor: Actor, kind: PauseKind, name: string, paused: boolean): Promise<void> => {
    if (kind === 'door' && name !== BOT_DOOR)
      throw new SpineError('not_found', {
        door: name,
        problem: `The door that can be paused is ${BOT_DOOR}.`,
      });
    await core.flusher.transact(actor, (tx, changeSet) =>
      setPaused(tx, changeSet, actor, { kind, name, paused }),
    );
    routingChanged(core, paused);
  };
  return {
    pause: (actor, kind, name) => set(actor, kind, name, true),
    resume: (actor, kind, name) => set(actor, kind, name, false),
    current: async () => core.store.read.routing.current(),
  };
}

export interface Pausing extends Pick<Pause, 'kind' | 'name'> {
  readonly paused: boolean;
  readonly untilAt?: number | null;
}

export async function setPaused(
  tx: Tx,
  changeSet: ChangeSet,
  actor: Actor,
  { kind, name, paused, untilAt = null }: Pausing,
): Promise<void> {
  if (paused) await tx.routing.pause({ kind, name, at: changeSet.now, by: actor.name, untilAt });
  else await tx.routing.resume(kind, name);
  await audit(tx, changeSet, actor, `${kind}.${paused ? 'pause' : 'resume'}`, name);
}

/** To be called after that commit. */
export function routingChanged(core: Core, paused: boolean): void {
  core.forgetRouting();
  if (!paused) core.waiters.wakeAll();
}

export function poolsOf(core: Core): Pools {
  const { store, flusher } = core;
  const find = async (name: string): Promise<PoolUse | undefined> =>
    (await store.read.pools.all()).find((pool) => pool.name === name);
  return {
    list: async () => store.read.pools.all(),
    save: async (actor, pool) => {
      await flusher.transact(actor, async (tx, changeSet) => {
        await tx.pools.save(pool, changeSet.now);
        const { capacity, perKey } = pool;
        await audit(tx, changeSet, actor, 'pool.save', pool.name, { capacity, perKey });
        // More room lets waiters in at once.
        await changeSet.requeueWaiters(tx, pool.name, pool.capacity);
      });
      return (await find(pool.name)) as PoolUse;
    },
    remove: async (actor, name) => {
      const end = await flusher.transact(actor, async (tx, changeSet) => {
        const deleted = await tx.pools.remove(name);
        if (deleted === 'deleted') await audit(tx, changeSet, actor, 'pool.delete', name);
        return deleted;
      });
      core.knownPools.delete(name);
      if (end === 'missing') throw new SpineError('not_found', { pool: name });
      if (end === 'in_use')
        throw new SpineError('conflict', { pool: name, why: 'unfinished jobs use this pool' });
    },
  };
}
