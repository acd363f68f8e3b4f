/** Lists that are asked for without pages: all that is unfinished and the newest of what ended, bounded in count and bytes. */

import { FINAL_STATES, type Job, OPEN_STATES, type State } from '../domain/job.ts';
import { LIMITS } from '../domain/limits.ts';
import type { JobFilter } from '../engine/engine.ts';
import { type Page, pageOf } from './page.ts';
import type { Call } from './routes.ts';

/** So many parts of a list are looked at for one page, each in the caller's turn. What is unfinished is shown in any case. */
const LOOKS = 20;

export interface OpenAndEnded {
  /** Oldest first. */
  readonly jobs: readonly Job[];
  /** About how large each is, by its number. */
  readonly sizes: ReadonlyMap<number, number>;
  /** There are more than could be shown. */
  readonly truncated: boolean;
}

export async function openAndEnded(
  call: Call,
  filter: Partial<JobFilter>,
  states: readonly State[],
): Promise<OpenAndEnded> {
  const half = (of: readonly State[], order: JobFilter['order']) => ({
    ...filter,
    states: states.filter((state) => of.includes(state)),
    order,
    limit: LIMITS.pageJobs,
  });
  const open = await listHalf(call, half(OPEN_STATES, 'oldest'), {
    maxBytes: LIMITS.answerBytes,
    looks: Infinity,
  });
  const ended = await listHalf(call, half(FINAL_STATES, 'newest'), {
    maxBytes: LIMITS.answerBytes - open.bytes,
    looks: LOOKS,
  });
  // A job that ended between the two reads may be in both.
  const byNo = new Map([...open.items, ...ended.items].map((item) => [item.job.no, item]));
  const sizes = new Map([...byNo].map(([no, { bytes }]) => [no, bytes]));
  const jobs = [...byNo.values()].map(({ job }) => job).toSorted((a, b) => a.no - b.no);
  return { jobs, sizes, truncated: open.more || ended.more };
}

interface Half {
  readonly items: readonly Sized[];
  readonly bytes: number;
  readonly more: boolean;
}

interface Bounds {
  readonly maxBytes: number;
  readonly looks: number;
}

async function listHalf(call: Call, filter: JobFilter, bounds: Bounds): Promise<Half> {
  const { items, next } = await jobPage(call, filter, bounds);
  const bytes = items.reduce((sum, item) => sum + item.bytes, 0);
  if (next === null) return { items, bytes, more: false };
  const { engine, actor, parts } = call;
  const behind = await parts.longWork.run(actor, () =>
    engine.jobs.look(actor, { ...filter, from: next, limit: 1 }),
  );
  return { items, bytes, more: behind.jobs.length > 0 || behind.next !== null };
}

export interface Sized {
  readonly job: Job;
  readonly bytes: number;
}

/**
 * Only how large the jobs are is read here: what they hold is read when it is known how many are shown. Where few fit, the
 * page may be short or empty and yet have a next one.
 */
export async function jobPage(
  call: Call,
  filter: JobFilter,
  { maxBytes, looks }: Bounds = { maxBytes: LIMITS.answerBytes, looks: LOOKS },
): Promise<Page<Sized, number | null>> {
  if (filter.states.length === 0) return { items: [], next: null };
  const { jobs } = call.engine;
  let behind: number | null = null;
  return pageOf<Sized, number | null>(call, {
    limit: filter.limit,
    maxBytes,
    itemBytes: LIMITS.progressBytes,
    start: filter.from ?? null,
    read: async (from, limit) => {
      const wanted = { ...filter, ...(from !== null && { from }), limit };
      const found = await jobs.look(call.actor, wanted);
      behind = found.next;
      return sized(call, found.jobs);
    },
    cursorOf: ({ job }) => job.no,
    bytesOf: ({ bytes }) => bytes,
    behind: () => behind,
    looks,
  });
}

export async function sized({ engine }: Pick<Call, 'engine'>, jobs: readonly Job[]): Promise<Sized[]> {
  const sizes = jobs.length === 0 ? new Map<number, number>() : await engine.jobs.sizes(jobs);
  return jobs.map((job) => ({ job, bytes: sizes.get(job.no) ?? 0 }));
}
