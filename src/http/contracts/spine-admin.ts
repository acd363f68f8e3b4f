/** What an operator sets up and looks at: types, pools, pauses, numbers. */

import type { Actor } from '../../domain/command.ts';
import { type State, STATES } from '../../domain/job.ts';
import { serves } from '../../domain/lease.ts';
import type { Engine } from '../../engine/engine.ts';
import { type Call, row, type Row } from '../routes.ts';
import { NameParams, NoFields, PoolBody, TypeBody } from '../schemas.ts';
import { iso } from '../times.ts';

const EVERYONE = ['head', 'worker', 'viewer'] as const;
const HEAD = ['head'] as const;

type JobType = Awaited<ReturnType<Engine['types']['get']>>;
type PauseKind = Parameters<Engine['routing']['pause']>[1];

export const adminRows: readonly Row[] = [
  row({
    method: 'GET',
    path: '/types',
    who: EVERYONE,
    handle: async ({ engine }) => ({ types: (await engine.types.list()).map(typeView) }),
  }),
  row({
    method: 'GET',
    path: '/types/:name',
    who: EVERYONE,
    params: NameParams,
    handle: async (call) => typeView(await call.engine.types.get(nameOf(call))),
  }),
  row({
    method: 'PUT',
    path: '/types/:name',
    who: HEAD,
    params: NameParams,
    body: TypeBody,
    handle: async (call) =>
      typeView(await call.engine.types.save(call.actor, { name: nameOf(call), ...call.body })),
  }),
  row({
    method: 'GET',
    path: '/pools',
    who: EVERYONE,
    handle: async ({ engine }) => ({ pools: await engine.pools.list() }),
  }),
  row({
    method: 'PUT',
    path: '/pools/:name',
    who: HEAD,
    params: NameParams,
    body: PoolBody,
    handle: async (call) => {
      const { capacity, perKey = 1 } = call.body;
      return await call.engine.pools.save(call.actor, { name: nameOf(call), capacity, perKey });
    },
  }),
  row({
    method: 'DELETE',
    path: '/pools/:name',
    who: HEAD,
    params: NameParams,
    handle: async (call) => {
      await call.engine.pools.remove(call.actor, nameOf(call));
      return { name: nameOf(call), removed: true };
    },
  }),
  pausing('target', 'pause'),
  pausing('target', 'resume'),
  pausing('type', 'pause'),
  pausing('type', 'resume'),
  row({
    method: 'GET',
    path: '/pauses',
    who: EVERYONE,
    handle: async ({ engine }) => {
      const { pauses } = await engine.routing.current();
      return { pauses: pauses.map(({ kind, name, at, by }) => ({ kind, name, since: iso(at), by })) };
    },
  }),
  row({
    method: 'GET',
    path: '/stats',
    who: EVERYONE,
    handle: async ({ engine, actor }) => stats(actor, await engine.counts()),
  }),
];

function nameOf({ params }: Pick<Call, 'params'>): string {
  return params['name'] ?? '';
}

function pausing(kind: PauseKind, verb: 'pause' | 'resume'): Row {
  return row({
    method: 'POST',
    path: `/${kind}s/:name/${verb}`,
    who: HEAD,
    params: NameParams,
    body: NoFields,
    handle: async (call) => {
      await call.engine.routing[verb](call.actor, kind, nameOf(call));
      return { kind, name: nameOf(call), paused: verb === 'pause' };
    },
  });
}

function typeView({ name, label, sop, paramsSchema, active, createdAt, updatedAt }: JobType): object {
  return {
    name,
    label,
    sop,
    paramsSchema: paramsSchema === null ? null : (JSON.parse(paramsSchema) as unknown),
    active,
    createdAt: iso(createdAt),
    updatedAt: iso(updatedAt),
  };
}

/** A worker sees the numbers of the targets it serves. */
function stats(actor: Actor, counts: readonly { target: string; state: State; n: number }[]): object {
  const states = Object.fromEntries(STATES.map((state) => [state, 0])) as Record<State, number>;
  // A map, because a target may be called "constructor".
  const targets = new Map<string, Partial<Record<State, number>>>();
  for (const { target, state, n } of counts) {
    if (n === 0 || !serves(actor, target)) continue;
    states[state] += n;
    const ofTarget = targets.get(target) ?? {};
    ofTarget[state] = (ofTarget[state] ?? 0) + n;
    targets.set(target, ofTarget);
  }
  return { states, targets: Object.fromEntries(targets) };
}
