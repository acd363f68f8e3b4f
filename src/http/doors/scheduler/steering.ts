/** What people do to a schedule, and what it tells about its ticks. */

import { runStatusOf } from '../../../domain/statuses.ts';
import { noteJob } from '../../requests.ts';
import { route, type Route } from '../../routes.ts';
import { CancelledSchedule, Missed, Preview, RunStarted, Schedule } from './answers.ts';
import { CancelQuery, LimitQuery, PreviewQuery, ScheduleParams } from './schemas.ts';
import { NoFields } from '../../fields.ts';
import { iso } from '../../iso.ts';
import { ABOUT_ONE, HEAD, parentNames, READERS, seen, shown } from './schedules.ts';
import { scheduleInWords } from '../../../domain/schedule-words.ts';
import { missedView } from './view.ts';

const PREVIEW = 5;
const PAGE = 100;

export const steeringRoutes: readonly Route[] = [
  switching('enable'),
  switching('disable'),
  route({
    method: 'POST',
    path: '/schedules/:id/cancel',
    name: 'cancelSchedule',
    about: 'Disable a schedule and end its runs, with everything below it unless cascade=false.',
    who: HEAD,
    params: ScheduleParams,
    query: CancelQuery,
    body: NoFields,
    answer: CancelledSchedule,
    errors: ABOUT_ONE,
    handle: async (call) => {
      const { engine, actor, query } = call;
      const { id } = await seen(call);
      const { schedules, runs } = await engine.schedules.cancel(actor, id, query.cascade ?? true);
      const now = await shown(engine, actor, await engine.schedules.get(actor, id));
      return { ...now, cancelled_schedules: schedules, cancelled_runs: runs };
    },
  }),
  route({
    method: 'POST',
    path: '/schedules/:id/run',
    name: 'runSchedule',
    about: "Make a run now; the schedule's next_run_at stays as it is.",
    who: HEAD,
    params: ScheduleParams,
    body: NoFields,
    status: 202,
    answer: RunStarted,
    errors: ABOUT_ONE,
    handle: async (call) => {
      const { id } = await seen(call);
      const job = await call.engine.schedules.run(call.actor, id);
      noteJob(call.request, job.id);
      return { run_id: job.id, status: runStatusOf(job), reason: job.reason };
    },
  }),
  route({
    method: 'GET',
    path: '/schedules/:id/preview',
    name: 'previewSchedule',
    about: 'Read when a schedule fires next, and its rule in words.',
    who: READERS,
    params: ScheduleParams,
    query: PreviewQuery,
    answer: Preview,
    errors: ABOUT_ONE,
    handle: async (call) => {
      const schedule = await seen(call);
      const ticks = await call.engine.schedules.preview(schedule.id, call.query.n ?? PREVIEW);
      const names = await parentNames(call.engine, call.actor, [schedule]);
      const rule = scheduleInWords(schedule, names.get(schedule.spec.parentId ?? '') ?? null);
      return { rule, next_runs: ticks.map(iso) };
    },
  }),
  route({
    method: 'GET',
    path: '/schedules/:id/missed',
    name: 'listMissed',
    about: 'List the ticks of a schedule that did not fire, newest first, with the reason.',
    who: READERS,
    params: ScheduleParams,
    query: LimitQuery,
    answer: Missed,
    errors: ABOUT_ONE,
    handle: async (call) => {
      const { id } = await seen(call);
      const missed = await call.engine.schedules.missed(id, call.query.limit ?? PAGE);
      return { missed: missed.map(missedView) };
    },
  }),
];

function switching(verb: 'enable' | 'disable'): Route {
  return route({
    method: 'POST',
    path: `/schedules/:id/${verb}`,
    name: `${verb}Schedule`,
    about:
      verb === 'enable'
        ? 'Let a schedule fire by itself again.'
        : 'Keep a schedule from firing by itself; what runs goes on.',
    who: HEAD,
    params: ScheduleParams,
    body: NoFields,
    answer: Schedule,
    errors: ABOUT_ONE,
    handle: async (call) => {
      const { id } = await seen(call);
      const schedule = await call.engine.schedules.enable(call.actor, id, verb === 'enable');
      return shown(call.engine, call.actor, schedule);
    },
  });
}
