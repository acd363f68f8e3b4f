/** GET /jobs: as v0 when nothing about pages is asked for, else one page with a cursor to the next. */

import type { Static } from 'typebox';
import { SpineError } from '../../../domain/error.ts';
import { type FieldFilter, FILTERED } from '../../../domain/job-fields.ts';
import { type Job, type State, STATES } from '../../../domain/job.ts';
import { LIMITS } from '../../../domain/limits.ts';
import { SPINE_STATUS_OF, SPINE_STATUSES, statesShownAs } from '../../../domain/statuses.ts';
import type { JobFilter } from '../../../engine/engine.ts';
import { fields, optional, whole } from '../../fields.ts';
import { jobPage, openAndEnded, type Sized, sized } from '../../job-list.ts';
import { type Page, pageOf } from '../../page.ts';
import type { Call } from '../../routes.ts';
import { Type } from '../../typebox.ts';
import { filterSchemas } from './job-fields.ts';
import { label, Name } from './schemas.ts';
import { blockedField, jobJson } from './view.ts';

/** Words to look for; without a letter or digit there is nothing to find. */
const Words = Type.String({
  minLength: 1,
  maxLength: LIMITS.uniqueKeyChars,
  pattern: '^\\P{Cc}*[\\p{L}\\p{N}]\\P{Cc}*$',
  must: `1 to ${LIMITS.uniqueKeyChars} printable characters with a letter or digit among them`,
});
export const ListQuery = fields({
  status: optional(Type.Enum([...SPINE_STATUSES])),
  state: optional(Type.Enum([...STATES])),
  target: optional(Name),
  queue: optional(Name),
  type: optional(Name),
  tag: optional(label(LIMITS.nameChars)),
  q: optional(Words),
  unassigned: optional(Type.Boolean()),
  retries: optional(Type.Boolean()),
  ...filterSchemas,
  order: optional(Type.Enum(['oldest', 'newest'])),
  cursor: optional(whole(0, Number.MAX_SAFE_INTEGER)),
  limit: optional(whole(1, LIMITS.pageJobs)),
});
type Query = Static<typeof ListQuery>;
const DEFAULT_PAGE = 100;
/** Whoever uses one of these knows about pages. v0 had `status` and `target` alone. */
const NATIVE = [
  ...(['cursor', 'limit', 'order', 'q', 'type', 'tag', 'unassigned', 'retries'] as const),
  ...FILTERED.map(({ name }) => name),
];

export function listJobs(call: Call<unknown, Query>): Promise<string> {
  return NATIVE.some((name) => call.query[name] !== undefined) ? onePage(call) : asV0(call);
}

async function onePage(call: Call<unknown, Query>): Promise<string> {
  const { order = 'oldest', limit = DEFAULT_PAGE, cursor } = call.query;
  const from = cursor === undefined ? {} : { from: cursor };
  const filter = { ...filterOf(call.query), states: statesOf(call.query), order, limit, ...from };
  const { q } = call.query;
  const { items, next } = await (q === undefined ? jobPage(call, filter) : found(call, q, filter));
  return `{"jobs":[${await printed(call, jobsOf(items))}],"nextCursor":${next === null ? 'null' : `"${next}"`}}`;
}

/** All that is unfinished and the newest of what ended, oldest first; both bounded, and the answer says so. */
async function asV0(call: Call<unknown, Query>): Promise<string> {
  const { jobs, truncated } = await openAndEnded(call, filterOf(call.query), statesOf(call.query));
  return `{"jobs":[${await printed(call, jobs)}]${truncated ? ',"truncated":true' : ''}}`;
}

/** A search looks at so many jobs and no more, so that its page may end before it is full. */
function found(
  call: Call<unknown, Query>,
  words: string,
  filter: JobFilter,
): Promise<Page<Sized, number | null>> {
  let behind: number | null = null;
  return pageOf<Sized, number | null>(call, {
    limit: filter.limit,
    // One look for one page.
    itemBytes: 1,
    start: filter.from ?? null,
    read: async (from, limit) => {
      const { jobs, next } = await call.engine.jobs.search(call.actor, words, {
        ...filter,
        ...(from !== null && { from }),
        limit,
      });
      behind = next;
      return sized(call, jobs);
    },
    cursorOf: ({ job }) => job.no,
    bytesOf: ({ bytes }) => bytes,
    behind: () => behind,
  });
}

function jobsOf(items: readonly Sized[]): Job[] {
  return items.map(({ job }) => job);
}

export function statesOf({ status, state }: Pick<Query, 'status' | 'state'>): readonly State[] {
  if (state !== undefined && status !== undefined && !statesShownAs(SPINE_STATUS_OF, status).includes(state))
    return [];
  if (state !== undefined) return [state];
  return status === undefined ? STATES : statesShownAs(SPINE_STATUS_OF, status);
}

export function filterOf(query: Omit<Query, 'order' | 'cursor' | 'limit'>): Partial<JobFilter> {
  const { type, tag, retries } = query;
  const target = targetOf(query);
  const named = FILTERED.flatMap(({ name }) => (query[name] === undefined ? [] : [[name, query[name]]]));
  return {
    ...(Object.fromEntries(named) as FieldFilter),
    ...(target !== undefined && { target }),
    ...(type !== undefined && { type }),
    ...(tag !== undefined && { tag }),
    ...(retries !== undefined && { retries }),
  };
}

/** Work that is addressed to nobody in particular is addressed to `any`. */
function targetOf({
  target,
  queue,
  unassigned,
}: Pick<Query, 'target' | 'queue' | 'unassigned'>): string | undefined {
  const named = { target, queue, unassigned: unassigned ? 'any' : undefined };
  const [first, ...others] = Object.entries(named).filter(([, name]) => name !== undefined);
  for (const [field, name] of others) {
    if (name === first?.[1]) continue;
    const message = `${field} and ${first?.[0]} must not differ.`;
    throw new SpineError('bad_request', { field }, { message });
  }
  return first?.[1];
}

async function printed({ engine, parts }: Call<unknown, Query>, jobs: readonly Job[]): Promise<string> {
  if (jobs.length === 0) return '';
  const details = await engine.jobs.details(jobs);
  const texts = jobs.map((job) => {
    const known = details.get(job.no);
    return known ? jobJson(job, known, blockedField(parts, job)) : '';
  });
  // Retention may have removed a finished job since the list was read.
  return texts.filter((text) => text !== '').join(',');
}
