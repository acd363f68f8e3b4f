/** Schedules: make them, read them, change them. */

import type { Actor } from '../../../domain/command.ts';
import { serves } from '../../../domain/lease.ts';
import { type Schedule, targetOf } from '../../../domain/schedule.ts';
import type { Engine } from '../../../engine/engine.ts';
import { LARGE_ITEM_BYTES, pageOf } from '../../page.ts';
import { type Call, route, type Route } from '../../routes.ts';
import { Schedule as ScheduleAnswer, ScheduleDeleted, Schedules, ScheduleTree } from './answers.ts';
import {
  DryRunQuery,
  NewSchedule,
  ScheduleBody,
  ScheduleChange,
  ScheduleParams,
  SchedulesQuery,
} from './schemas.ts';
import { scheduleTree } from './tree.ts';
import { scheduleView } from './view.ts';

export const READERS = ['head', 'viewer'] as const;
export const HEAD = ['head'] as const;
/** What a call about one schedule can be told. */
export const ABOUT_ONE = ['not_found', 'forbidden', 'conflict'] as const;
const PAGE = 100;

export const scheduleRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/schedules',
    name: 'createSchedule',
    about: 'Create a schedule: by cron, interval or time, after another one, or only by hand.',
    who: HEAD,
    body: ScheduleBody,
    bodyShown: NewSchedule,
    status: 201,
    answer: ScheduleAnswer,
    handle: async ({ engine, actor, body }) =>
      shown(engine, actor, await engine.schedules.create(actor, body)),
  }),
  route({
    method: 'GET',
    path: '/schedules',
    name: 'listSchedules',
    about: 'List schedules, oldest first and in pages: next_after is the after of the next one.',
    who: READERS,
    query: SchedulesQuery,
    answer: Schedules,
    handle: async (call) => {
      const { engine, actor, query } = call;
      const { enabled, after = 0, limit = PAGE } = query;
      const { items, next } = await pageOf(call, {
        limit,
        itemBytes: LARGE_ITEM_BYTES,
        start: after,
        read: (afterNo, count) =>
          engine.schedules.list({ afterNo, limit: count, ...(enabled !== undefined && { enabled }) }),
        cursorOf: ({ no }) => no,
        bytesOf: ({ spec }) => JSON.stringify(spec).length,
      });
      const shown = await views(
        engine,
        actor,
        items.filter(({ spec }) => serves(actor, targetOf(spec))),
      );
      return { schedules: shown, next_after: next };
    },
  }),
  route({
    method: 'GET',
    path: '/schedules/tree',
    name: 'getScheduleTree',
    about: 'Read all schedules as chains: each one holds those that it triggers.',
    who: READERS,
    answer: ScheduleTree,
    handle: scheduleTree,
  }),
  route({
    method: 'GET',
    path: '/schedules/:id',
    name: 'getSchedule',
    about: 'Read a schedule, by its id or the beginning of it.',
    who: READERS,
    params: ScheduleParams,
    answer: ScheduleAnswer,
    errors: ABOUT_ONE,
    handle: async (call) => shown(call.engine, call.actor, await seen(call)),
  }),
  route({
    method: 'PATCH',
    path: '/schedules/:id',
    name: 'changeSchedule',
    about:
      'Change the named fields of a schedule; null asks for the default again. With dry_run it is only shown as it would be.',
    who: HEAD,
    params: ScheduleParams,
    query: DryRunQuery,
    body: ScheduleBody,
    bodyShown: ScheduleChange,
    answer: ScheduleAnswer,
    errors: ABOUT_ONE,
    handle: async (call) => {
      const { id } = await seen(call);
      const { engine, actor, body, query } = call;
      return shown(engine, actor, await engine.schedules.update(actor, id, body, query.dry_run));
    },
  }),
  route({
    method: 'DELETE',
    path: '/schedules/:id',
    name: 'deleteSchedule',
    about: 'Delete a schedule and everything below it; its unfinished runs are cancelled.',
    who: HEAD,
    params: ScheduleParams,
    answer: ScheduleDeleted,
    errors: ABOUT_ONE,
    handle: async (call) => {
      const { id } = await seen(call);
      const { schedules, runs } = await call.engine.schedules.remove(call.actor, id);
      return { id, deleted: true, deleted_schedules: schedules, cancelled_runs: runs };
    },
  }),
];

/** The schedule that the path names. */
export function seen({ engine, actor, params }: Call): Promise<Schedule> {
  return engine.schedules.get(actor, params['id'] ?? '');
}

export async function shown(
  engine: Engine,
  actor: Actor,
  schedule: Schedule,
): Promise<Record<string, unknown>> {
  const [view] = await views(engine, actor, [schedule]);
  return view ?? {};
}

async function views(
  engine: Engine,
  actor: Actor,
  schedules: readonly Schedule[],
): Promise<Record<string, unknown>[]> {
  if (schedules.length === 0) return [];
  const [waiting, names] = await Promise.all([
    engine.schedules.waiting(schedules),
    parentNames(engine, actor, schedules),
  ]);
  return schedules.map((schedule) =>
    scheduleView(schedule, waiting.get(schedule.id) ?? 0, names.get(schedule.spec.parentId ?? '') ?? null),
  );
}

/** Whoever sees only some targets is not told what the schedules of others are called. */
export async function parentNames(
  engine: Engine,
  actor: Actor,
  schedules: readonly Schedule[],
): Promise<ReadonlyMap<string, string>> {
  return actor.targets === null ? engine.schedules.parentNames(schedules) : new Map();
}
