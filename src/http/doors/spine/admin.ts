/** What an operator sets up: types, pools, pauses. */

import { LIMITS } from '../../../domain/limits.ts';
import type { Engine } from '../../../engine/engine.ts';
import { JobType as JobTypeAnswer, JobTypes, PauseSet, Pauses, Pool, PoolRemoved, Pools } from './answers.ts';
import { pageOf } from '../../page.ts';
import { type Call, route, type Route } from '../../routes.ts';
import { NoFields } from '../../fields.ts';
import { NameParams, NamesQuery, PoolBody, TypeBody } from './schemas.ts';
import { iso } from '../../iso.ts';

/** What a type takes beside its instructions. */
const TYPE_BYTES = 300;

const EVERYONE = ['head', 'worker', 'viewer'] as const;
const HEAD = ['head'] as const;

type JobType = Awaited<ReturnType<Engine['types']['get']>>;
type PauseKind = Parameters<Engine['routing']['pause']>[1];

const OF: Readonly<Record<PauseKind, string>> = {
  target: 'of this target',
  type: 'of this type',
  door: 'at this door',
  provider: 'of the types of this provider',
};

export const adminRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/types',
    name: 'listTypes',
    about: 'List the kinds of work.',
    answer: JobTypes,
    who: EVERYONE,
    query: NamesQuery,
    handle: async (call) => {
      const { after = '', limit = LIMITS.pageJobs } = call.query;
      const { items, next } = await pageOf(call, {
        limit,
        itemBytes: LIMITS.sopChars + LIMITS.schemaChars,
        start: after,
        read: (from, count) => call.engine.types.list(from, count),
        cursorOf: ({ name }) => name,
        bytesOf: ({ sop, paramsSchema }) => TYPE_BYTES + (sop?.length ?? 0) + (paramsSchema?.length ?? 0),
      });
      return { types: items.map(typeView), nextAfter: next };
    },
  }),
  route({
    method: 'GET',
    path: '/types/:name',
    name: 'getType',
    about: 'Read one kind of work.',
    answer: JobTypeAnswer,
    errors: ['not_found'],
    who: EVERYONE,
    params: NameParams,
    handle: async (call) => typeView(await call.engine.types.get(nameOf(call))),
  }),
  route({
    method: 'PUT',
    path: '/types/:name',
    name: 'saveType',
    about: 'Say how a kind of work is done: label, SOP, the JSON Schema of its params, and its retries.',
    answer: JobTypeAnswer,
    who: HEAD,
    params: NameParams,
    body: TypeBody,
    handle: async (call) =>
      typeView(await call.engine.types.save(call.actor, { name: nameOf(call), ...call.body })),
  }),
  route({
    method: 'GET',
    path: '/pools',
    name: 'listPools',
    about: 'List the pools and who uses them.',
    answer: Pools,
    who: EVERYONE,
    handle: async ({ engine }) => ({ pools: await engine.pools.list() }),
  }),
  route({
    method: 'PUT',
    path: '/pools/:name',
    name: 'savePool',
    about: 'Say how many jobs of a pool may run at once.',
    answer: Pool,
    errors: ['conflict'],
    who: HEAD,
    params: NameParams,
    body: PoolBody,
    handle: async (call) => {
      const { capacity, perKey = 1 } = call.body;
      return await call.engine.pools.save(call.actor, { name: nameOf(call), capacity, perKey });
    },
  }),
  route({
    method: 'DELETE',
    path: '/pools/:name',
    name: 'removePool',
    about: 'Remove a pool that nothing uses.',
    answer: PoolRemoved,
    errors: ['not_found', 'conflict'],
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
  pausing('door', 'pause'),
  pausing('door', 'resume'),
  pausing('type', 'resume'),
  pausing('provider', 'pause'),
  pausing('provider', 'resume'),
  route({
    method: 'GET',
    path: '/pauses',
    name: 'listPauses',
    about: 'List what is paused.',
    answer: Pauses,
    who: EVERYONE,
    handle: async ({ engine }) => {
      const { pauses } = await engine.routing.current();
      return {
        pauses: pauses.map(({ kind, name, at, by, untilAt }) => {
          const until = untilAt === null ? null : iso(untilAt);
          return { kind, name, since: iso(at), by, until };
        }),
      };
    },
  }),
];

function nameOf({ params }: Pick<Call, 'params'>): string {
  return params['name'] ?? '';
}

function pausing(kind: PauseKind, verb: 'pause' | 'resume'): Route {
  return route({
    method: 'POST',
    path: `/${kind}s/:name/${verb}`,
    name: `${verb}${kind[0]?.toUpperCase()}${kind.slice(1)}`,
    about: verb === 'pause' ? `Hand out nothing ${OF[kind]} any more.` : `Hand out work ${OF[kind]} again.`,
    answer: PauseSet,
    errors: ['not_found'],
    who: HEAD,
    params: NameParams,
    body: NoFields,
    handle: async (call) => {
      await call.engine.routing[verb](call.actor, kind, nameOf(call));
      return { kind, name: nameOf(call), paused: verb === 'pause' };
    },
  });
}

function typeView(type: JobType): object {
  const { name, label, sop, paramsSchema, maxRetries, backoffMs, active, createdAt, updatedAt } = type;
  const { scoring, provider } = type;
  return {
    name,
    label,
    sop,
    paramsSchema: paramsSchema === null ? null : (JSON.parse(paramsSchema) as unknown),
    maxRetries,
    retry: { backoffMs },
    scoring,
    provider,
    active,
    createdAt: iso(createdAt),
    updatedAt: iso(updatedAt),
  };
}
