/** Schedules as people keep them: looked at before they are made, whole by their name, and as a set of files. */

import { route, type Route } from '../../routes.ts';
import { iso } from '../../iso.ts';
import { AppliedSet, Preview, PutSchedule } from './answers.ts';
import { HEAD, READERS, shown } from './schedules.ts';
import { ApplyBody, NewSchedule, PreviewQuery, ScheduleBody, ScheduleChange } from './schemas.ts';

const PREVIEW = 5;

export const keepingRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/schedules/preview',
    name: 'previewNewSchedule',
    about: 'Read when a schedule would fire that does not exist; nothing is made. Its trigger is enough.',
    who: READERS,
    query: PreviewQuery,
    body: ScheduleBody,
    bodyShown: ScheduleChange,
    answer: Preview,
    handle: async ({ engine, body, query }) => {
      const { ticks, words } = await engine.schedules.previewDraft(body, query.n ?? PREVIEW);
      return { rule: words, next_runs: ticks.map(iso) };
    },
  }),
  route({
    method: 'PUT',
    path: '/schedules',
    name: 'putSchedule',
    about:
      'Create a schedule, or make the one of that name as this says; what it does not say has its default.',
    who: HEAD,
    body: ScheduleBody,
    bodyShown: NewSchedule,
    answer: PutSchedule,
    handle: async ({ engine, actor, body }) => {
      const { schedule, action } = await engine.schedules.put(actor, body);
      return { ...(await shown(engine, actor, schedule)), action };
    },
  }),
  route({
    method: 'POST',
    path: '/schedules/apply',
    name: 'applySchedules',
    about:
      'Make schedules, types and pools as a set of files says, parents first: all of them, or nothing when one is wrong.',
    who: HEAD,
    body: ApplyBody,
    answer: AppliedSet,
    handle: async ({ engine, actor, body }) => {
      const { name, schedules, types = [], pools = [], prune = false, dry_run: dryRun = false } = body;
      const sized = pools.map(({ perKey = 1, ...pool }) => ({ ...pool, perKey }));
      const mark = `apply:${name}`;
      const results = await engine.schedules.apply(
        actor,
        { schedules, types, pools: sized },
        { mark, prune, dryRun },
      );
      return { dry_run: dryRun, managed_by: mark, results };
    },
  }),
];
