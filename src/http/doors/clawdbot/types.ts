/** Kinds of tasks, under whole numbers. A name stays taken for good. */

import { isJsonObject } from '../../../domain/json-object.ts';
import type { JobType } from '../../../domain/job-type.ts';
import { LIMITS } from '../../../domain/limits.ts';
import { SpineError } from '../../../domain/error.ts';
import type { Engine } from '../../../engine/engine.ts';
import { type Call, route, type Route } from '../../routes.ts';
import { Type } from '../../typebox.ts';
import { type PageQuery, pageByOffset } from './pages.ts';
import { data, Done, done, enveloped } from './routes.ts';
import { BotTaskType, NewType, PageFields, TypeChange, TypeParams } from './schemas.ts';
import { typeView } from './view.ts';
import { missing, problem } from './words.ts';

const ADMINS = ['head'] as const;
const WORKERS = ['worker'] as const;
const NAME = /^[a-z0-9_]{1,100}$/;

/** Around its instructions and its schema. */
const AROUND_BYTES = 1_000;

const list = async (call: Call<unknown, PageQuery>) => {
  const known = [...(await call.engine.types.known()).values()].filter(({ active }) => active);
  const types = known.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const { items, next } = await pageByOffset(call, call.query, {
    most: LIMITS.pageJobs,
    itemBytes: LIMITS.sopChars + LIMITS.schemaChars,
    read: (offset, count) => types.slice(offset, offset + count),
    bytesOf: ({ sop, paramsSchema }) =>
      AROUND_BYTES + Buffer.byteLength(sop ?? '') + Buffer.byteLength(paramsSchema ?? ''),
  });
  return { ...data(items.map(typeView)), has_more: next !== null && next < types.length };
};

const read = (who: typeof ADMINS | typeof WORKERS, side: string, name: string): Route =>
  route({
    method: 'GET',
    path: `/api/v1/${side}/task-types`,
    name,
    about: 'List the task types that are in use, by name.',
    who,
    query: PageFields,
    answer: enveloped(Type.Array(BotTaskType)),
    handle: list,
  });

export const typeRoutes: readonly Route[] = [
  read(ADMINS, 'admin/workers', 'listBotTypes'),
  read(WORKERS, 'worker', 'listOwnBotTypes'),
  route({
    method: 'GET',
    path: '/api/v1/worker/task-types/:id',
    name: 'getBotType',
    about: 'Read a task type.',
    who: WORKERS,
    params: TypeParams,
    answer: enveloped(BotTaskType),
    errors: ['not_found'],
    handle: async ({ engine, params }) => data(typeView(await typeNamed(engine, params['id']))),
  }),
  route({
    method: 'POST',
    path: '/api/v1/admin/workers/task-types',
    name: 'addBotType',
    about: 'Make a task type.',
    who: ADMINS,
    body: NewType,
    status: 201,
    answer: enveloped(BotTaskType),
    errors: ['conflict'],
    handle: async ({ engine, actor, body }) => {
      const { name, label, sop, param_schema: schema, max_retries: maxRetries, scoring, provider } = body;
      if (typeof name !== 'string' || !NAME.test(name))
        throw problem('name', 'Name must be lowercase alphanumeric with underscores only (1-100 chars)');
      const draft = {
        name,
        label,
        sop: sop ?? null,
        paramsSchema: schemaOf(schema),
        ...(typeof maxRetries === 'number' && { maxRetries }),
        scoring: scoring ?? null,
        provider: provider ?? null,
      };
      return data(typeView(await declared(engine.types.declare(actor, draft))));
    },
  }),
  route({
    method: 'PUT',
    path: '/api/v1/admin/workers/task-types/:id',
    name: 'changeBotType',
    about: 'Change a task type. What is left out or null stays as it is, and so does the name.',
    who: ADMINS,
    params: TypeParams,
    body: TypeChange,
    answer: enveloped(BotTaskType),
    errors: ['not_found'],
    handle: async ({ engine, actor, params, body }) => {
      const type = await typeNamed(engine, params['id']);
      const { label, sop, param_schema: schema, max_retries: maxRetries } = body;
      const { scoring: points, provider: whose } = body;
      const draft = {
        name: type.name,
        label: label ?? type.label,
        sop: sop ?? type.sop,
        paramsSchema: schemaOf(schema) ?? (JSON.parse(type.paramsSchema ?? 'null') as unknown),
        maxRetries: maxRetries ?? type.maxRetries,
        retry: { backoffMs: type.backoffMs },
        scoring: points ?? type.scoring,
        provider: whose ?? type.provider,
      };
      return data(typeView(await engine.types.save(actor, draft)));
    },
  }),
  route({
    method: 'DELETE',
    path: '/api/v1/admin/workers/task-types/:id',
    name: 'retireBotType',
    about: 'Take a task type out of use. Tasks that have it keep it.',
    who: ADMINS,
    params: TypeParams,
    answer: Done,
    errors: ['not_found'],
    handle: async ({ engine, actor, params }) => {
      await engine.types.retire(actor, (await typeNamed(engine, params['id'])).name);
      return done('Task type deactivated');
    },
  }),
];

/** One that is in use. */
export async function activeType(engine: Engine, no: number): Promise<JobType | null> {
  const type = (await engine.types.known()).get(no);
  return type?.active === true ? type : null;
}

async function typeNamed(engine: Engine, id: string | undefined): Promise<JobType> {
  const type = /^\d{1,15}$/.test(id ?? '') ? await activeType(engine, Number(id)) : null;
  if (type === null) throw missing('Task type not found');
  return type;
}

function schemaOf(schema: unknown): unknown {
  if (schema === undefined || schema === null || isJsonObject(schema)) return schema ?? null;
  throw problem('param_schema', 'param_schema must be a JSON Schema, an object');
}

async function declared(declaring: Promise<JobType>): Promise<JobType> {
  try {
    return await declaring;
  } catch (error) {
    if (!(error instanceof SpineError) || error.code !== 'conflict') throw error;
    const why = 'Failed to create task type. Name may already be in use.';
    const words = `${why} ${String(error.details['problem'])}`;
    throw new SpineError('conflict', { field: 'name', problem: words });
  }
}
