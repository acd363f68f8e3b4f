/** GET /jobs: as v0 when nothing about pages is asked for, else one page with a cursor to the next. */

import type { Static } from 'typebox';
import type { Actor } from '../../domain/command.ts';
import { SpineError } from '../../domain/error.ts';
import { FINAL_STATES, type Job, OPEN_STATES, type State, STATES } from '../../domain/job.ts';
import { LIMITS } from '../../domain/limits.ts';
import { statesShownAs } from '../../domain/words.ts';
import type { Engine, JobFilter } from '../../engine/engine.ts';
import type { ListQuery } from '../schemas.ts';
import { jobJson } from './spine-view.ts';

type Query = Static<typeof ListQuery>;
const DEFAULT_PAGE = 100;
/** Whoever uses one of these knows about pages. v0 had `status` and `target` alone. */
const NATIVE = ['cursor', 'limit', 'order', 'q', 'type', 'tag', 'unassigned', 'retries'] as const;

export async function listJobs(engine: Engine, actor: Actor, query: Query): Promise<string> {
  return NATIVE.some((name) => query[name] !== undefined)
    ? await onePage(engine, actor, query)
    : await asV0(engine, actor, query);
}

async function onePage(engine: Engine, actor: Actor, query: Query): Promise<string> {
  const { order = 'oldest', limit = DEFAULT_PAGE, cursor } = query;
  const from = cursor === undefined ? {} : { from: cursor };
  const states = statesOf(query);
  const filter = { ...filterOf(query), states, order, limit, ...from };
  const jobs = states.length === 0 ? [] : await engine.jobs.list(actor, filter);
  const last = jobs.length === limit ? jobs.at(-1) : undefined;
  return `{"jobs":[${await printed(engine, jobs)}],"nextCursor":${last ? `"${last.no}"` : 'null'}}`;
}

/** All that is unfinished and the newest of what ended, oldest first; both bounded, and the answer says so. */
async function asV0(engine: Engine, actor: Actor, query: Query): Promise<string> {
  const states = statesOf(query);
  const half = (of: readonly State[], order: JobFilter['order']) => ({
    ...filterOf(query),
    states: states.filter((state) => of.includes(state)),
    order,
    limit: LIMITS.pageJobs,
  });
  const [open, ended] = await Promise.all([
    listHalf(engine, actor, half(OPEN_STATES, 'oldest')),
    listHalf(engine, actor, half(FINAL_STATES, 'newest')),
  ]);
  // A job that ended between the two reads may be in both.
  const byNo = new Map([...open.jobs, ...ended.jobs].map((job) => [job.no, job]));
  const jobs = [...byNo.values()].toSorted((a, b) => a.no - b.no);
  return `{"jobs":[${await printed(engine, jobs)}]${open.more || ended.more ? ',"truncated":true' : ''}}`;
}

async function listHalf(
  engine: Engine,
  actor: Actor,
  filter: JobFilter,
): Promise<{ jobs: Job[]; more: boolean }> {
  if (filter.states.length === 0) return { jobs: [], more: false };
  const jobs = await engine.jobs.list(actor, filter);
  const last = jobs.at(-1);
  if (jobs.length < filter.limit || !last) return { jobs, more: false };
  const next = await engine.jobs.list(actor, { ...filter, from: last.no, limit: 1 });
  return { jobs, more: next.length > 0 };
}

function statesOf({ status, state }: Query): readonly State[] {
  if (state !== undefined && status !== undefined && !statesShownAs(status).includes(state)) return [];
  if (state !== undefined) return [state];
  return status === undefined ? STATES : statesShownAs(status);
}

function filterOf(query: Query): Partial<JobFilter> {
  const { type, tag, q, retries } = query;
  const target = targetOf(query);
  return {
    ...(target !== undefined && { target }),
    ...(type !== undefined && { type }),
    ...(tag !== undefined && { tag }),
    ...(q !== undefined && { words: q }),
    ...(retries !== undefined && { retries }),
  };
}

/** Work that is addressed to nobody in particular is addressed to `any`. */
function targetOf({ target, queue, unassigned }: Query): string | undefined {
  const named = { target, queue, unassigned: unassigned ? 'any' : undefined };
  const [first, ...others] = Object.entries(named).filter(([, name]) => name !== undefined);
  for (const [field, name] of others) {
    if (name === first?.[1]) continue;
    const message = `${field} and ${first?.[0]} must not differ.`;
    throw new SpineError('bad_request', { field }, { message });
  }
  return first?.[1];
}

async function printed(engine: Engine, jobs: readonly Job[]): Promise<string> {
  if (jobs.length === 0) return '';
  const details = await engine.jobs.details(jobs);
  const texts = jobs.map((job) => {
    const known = details.get(job.no);
    return known ? jobJson(job, known) : '';
  });
  // Retention may have removed a finished job since the list was read.
  return texts.filter((text) => text !== '').join(',');
}
