/** The history of what schedules made. */

import { SpineError } from '../../../domain/error.ts';
import type { Job, State } from '../../../domain/job.ts';
import { mayTouch } from '../../../domain/lease.ts';
import type { RunStatus } from '../../../domain/statuses.ts';
import type { Engine } from '../../../engine/engine.ts';
import { inTurn } from '../../one-job.ts';
import { LARGE_ITEM_BYTES, pageOf } from '../../page.ts';
import { type Call, route, type Route } from '../../routes.ts';
import { deliveryView } from './delivery-view.ts';
import { Run, RunPrompt, Runs, StaleRuns } from './answers.ts';
import { CancelBody, RunsOfQuery, RunsQuery, ScheduleParams, StaleQuery } from './schemas.ts';
import { ABOUT_ONE, HEAD, READERS, seen } from './schedules.ts';
import { listedRun, runView } from './view.ts';
import { jobId } from '../../job-id.ts';

type RunRecord = Awaited<ReturnType<Engine['runs']['get']>>;
type RunFilter = Parameters<Engine['runs']['list']>[0];

const EVERYONE = ['head', 'worker', 'viewer'] as const;
const PAGE = 50;
/** So many parts of the history are looked at for one page. */
const LOOKS = 20;
/** What a run takes beside its result. */
const RUN_BYTES = 1_500;
/** As long as an agent may be silent unless its schedule or the server says otherwise. */
const STALE_S = 90;

export const runRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/schedules/:id/runs',
    name: 'listRunsOfSchedule',
    about: 'List the runs of a schedule, newest first and in pages.',
    who: READERS,
    params: ScheduleParams,
    query: RunsOfQuery,
    answer: Runs,
    errors: ABOUT_ONE,
    handle: async (call) => {
      const { id: scheduleId } = await seen(call);
      return page(call, { ...paging(call.query), scheduleId });
    },
  }),
  route({
    method: 'GET',
    path: '/runs',
    name: 'listRuns',
    about: 'List runs, newest first and in pages: next_before is the before of the next one.',
    who: EVERYONE,
    query: RunsQuery,
    answer: Runs,
    handle: (call) => {
      const { query } = call;
      return page(call, {
        ...paging(query),
        ...(query.status !== undefined && SHOWN_AS[query.status]),
      });
    },
  }),
  route({
    method: 'GET',
    path: '/runs/stale',
    name: 'listStaleRuns',
    about: `List running runs that showed no life for threshold_s seconds, ${STALE_S} unless said.`,
    who: EVERYONE,
    query: StaleQuery,
    answer: StaleRuns,
    handle: ({ engine, actor, query, parts }) =>
      parts.longWork.run(actor, async () => {
        const stale = await engine.runs.stale((query.threshold_s ?? STALE_S) * 1_000, query.limit ?? PAGE);
        return { runs: stale.filter(({ job }) => mayTouch(actor, job)).map(listedRun) };
      }),
  }),
  route({
    method: 'GET',
    path: '/runs/:id',
    name: 'getRun',
    about: 'Read a run with its whole output.',
    who: [...EVERYONE, 'run'],
    forShownTokens: true,
    answer: Run,
    errors: ['not_found', 'forbidden'],
    handle: async (call) => {
      const { engine, actor } = call;
      const job = await seenJob(call);
      const deliveries = await engine.deliveries.list({ jobNo: job.no, limit: PAGE });
      return printed(call, job, {
        done: false,
        more: { deliveries: deliveries.map((each) => deliveryView(actor, each)) },
      });
    },
  }),
  route({
    method: 'GET',
    path: '/runs/:id/prompt',
    name: 'getPromptOfRun',
    about:
      'Read what the agent of a run was sent. Its token is left out; prompt_hash is the SHA-256 of the text with it.',
    who: HEAD,
    answer: RunPrompt,
    errors: ABOUT_ONE,
    handle: async (call) => {
      const { runs } = call.engine;
      const job = await seenJob(call);
      return inTurn(call, job, { done: false }, async () => {
        const [run, prompt] = [await runs.of(job.no), await runs.prompt(job.no)];
        if (run === null || prompt === null)
          throw new SpineError('not_found', {
            id: job.id,
            problem: 'No agent was sent anything in this run.',
          });
        return JSON.stringify({ run_id: job.id, prompt, prompt_hash: run.promptHash });
      });
    },
  }),
  route({
    method: 'POST',
    path: '/runs/:id/cancel',
    name: 'cancelRun',
    about: 'End a run; running work is told to stop.',
    who: HEAD,
    body: CancelBody,
    answer: Run,
    errors: ABOUT_ONE,
    handle: async (call) => {
      const job = await seenJob(call);
      await call.engine.jobs.cancel(call.actor, job.id, call.body.reason ?? null);
      return printed(call, job, { done: true });
    },
  }),
];

const failed: State[] = ['failed', 'dead'];

/** Which jobs a run's status stands for: the way back from `runStatusOf`. */
const SHOWN_AS: Readonly<Record<RunStatus, Pick<RunFilter, 'states' | 'causes'>>> = {
  pending: { states: ['queued', 'scheduled', 'blocked'] },
  awaiting_approval: { states: ['awaiting_approval'] },
  running: { states: ['running'] },
  ok: { states: ['done'] },
  error: { states: failed, causes: [null] },
  timeout: { states: failed, causes: ['timeout', 'stale'] },
  crashed: { states: failed, causes: ['crashed'] },
  cancelled: { states: ['cancelled'] },
  skipped: { states: ['skipped'] },
};

function paging({ before, limit = PAGE }: { before?: number; limit?: number }): RunFilter {
  return { limit, ...(before !== undefined && { before }) };
}

/** Whoever sees only some targets gets shorter pages, never a page that ends the list too early. */
async function page(call: Call, filter: RunFilter): Promise<object> {
  let behind: number | null = null;
  const { items, next } = await pageOf<RunRecord, number | null>(call, {
    limit: filter.limit,
    itemBytes: LARGE_ITEM_BYTES,
    start: filter.before ?? null,
    read: async (before, limit) => {
      const found = await call.engine.runs.look({ ...filter, ...(before !== null && { before }), limit });
      behind = found.next;
      return found.runs;
    },
    cursorOf: ({ job }) => job.no,
    behind: () => behind,
    looks: LOOKS,
    bytesOf: ({ result, error }) => RUN_BYTES + (result?.length ?? 0) + (error?.length ?? 0),
  });
  return {
    runs: items.filter(({ job }) => mayTouch(call.actor, job)).map(listedRun),
    next_before: next,
  };
}

/** The job that the path names, where a schedule made it. */
async function seenJob(call: Call): Promise<Job> {
  const { engine, actor } = call;
  const job = await engine.jobs.get(actor, await jobId(call));
  if ((await engine.runs.of(job.no)) === null) throw new SpineError('not_found', { id: job.id });
  return job;
}

function printed(
  call: Call,
  job: Job,
  { done, more }: { readonly done: boolean; readonly more?: object },
): Promise<string> {
  const { engine, actor } = call;
  return inTurn(call, job, { done }, async () =>
    JSON.stringify({ ...runView(await engine.runs.get(actor, job.id)), ...more }),
  );
}
