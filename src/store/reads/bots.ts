/** What bots hold and held. Their jobs have an index of their own, job_by_bot, in the order of their ends. */

import {
  BOT_PRIORITIES,
  type HeldFilter,
  type RankedJob,
  type RankedWindow,
  type RunningTask,
} from '../../domain/bot.ts';
import type { ListFilter } from '../../domain/job-filter.ts';
import { LIMITS } from '../../domain/limits.ts';
import { FRONT } from '../../domain/priority.ts';
import type { KeyQuery, Row, Sql, Value } from '../sql/driver.ts';
import { page, type Put } from '../sql/job-pages.ts';
import { only } from '../sql/rows.ts';

const OWN = `priority - case when priority > ${LIMITS.priority} then ${FRONT} else 0 end`;
const RANK = `case ${Object.values(BOT_PRIORITIES)
  .toSorted((a, b) => b - a)
  .map((rank) => `when ${OWN} >= ${rank} then ${rank}`)
  .join(' ')} else ${BOT_PRIORITIES.low} end`;

/**
 * Looks at the newest jobs that fit, and of these at the first `most` in the order of tasks. No index has that order: it
 * would cost every claim. So whoever lists goes down the numbers, a window at a time, and takes nothing but numbers along.
 */
export async function ranked(sql: Sql, filter: ListFilter, most: number): Promise<RankedWindow> {
  if (filter.targets?.length === 0 || filter.states.length === 0) return { ranked: [], size: 0, next: null };
  const course = { newest: true, from: filter.from, until: null };
  const params: Value[] = [];
  const put: Put = (value) => `$${params.push(value)}`;
  const pages = filter.states.map(
    (state, i) => `select * from (${page(sql, filter, state, course, put, 'no, priority')}) as page${i}`,
  );
  const window = `${pages.join(' union all ')} order by no desc limit ${put(filter.limit)}`;
  const text = `select no, ${RANK} as rank, count(*) over (), min(no) over () from (${window}) as looked_at
    order by rank desc, no desc limit ${put(most)}`;
  const rows = await sql.all(text, params);
  const [, , size = 0, last = null] = rows[0] ?? [];
  return {
    ranked: rows.map(rankedFrom),
    size: Number(size),
    next: Number(size) < filter.limit ? null : Number(last),
  };
}

/** What a bot runs and what it ended last, in the order of tasks. */
export async function held(
  sql: Sql,
  name: string,
  { states, typeNo, retries, limit }: HeldFilter,
  most: number,
): Promise<RankedJob[]> {
  const params: Value[] = [name];
  const put: Put = (value) => `$${params.push(value)}`;
  const wanted = `${typeNo === null ? '' : ` and type_no = ${put(typeNo)}`}${retries ? ' and retry_count > 0' : ''}`;
  const part = (which: string): string => `select no, priority from job where claimed_by = $1
    and lease_policy = 'presence' and ${which}${wanted} order by finished_at desc limit ${put(limit)} + 0`;
  const ended = states.filter((state) => state !== 'running');
  const parts = [
    ...(states.includes('running') ? [part("finished_at is null and state = 'running'")] : []),
    ...(ended.length > 0
      ? [part(`finished_at is not null and state in (${ended.map(put).join(', ')})`)]
      : []),
  ].map((text, i) => `select * from (${text}) as part${i}`);
  if (parts.length === 0) return [];
  const text = `select no, ${RANK} as rank from (${parts.join(' union all ')}) as held
    order by rank desc, no desc limit ${put(most)}`;
  return (await sql.all(text, params)).map(rankedFrom);
}

function rankedFrom([no, rank]: Row): RankedJob {
  return { no: no as number, rank: rank as number };
}

const ids: KeyQuery = {
  one: 'select id from job_input where id = $1',
  many: 'select id from job_input where id = any($1::text[])',
};

export async function existing(sql: Sql, named: readonly string[]): Promise<string[]> {
  return (await sql.byKeys(ids, named)).map(([id]) => id as string);
}

/** How many jobs it holds, counted no further than `most`. */
export async function heldNow(sql: Sql, name: string, most: number): Promise<number> {
  const held = `select 1 from job where claimed_by = $1 and lease_policy = 'presence' and finished_at is null
    and state = 'running' limit $2 + 0`;
  return Number(await only(sql, `select count(*) from (${held}) as held`, [name, most]));
}

/** How many jobs each bot holds or ended. */
export async function heldCounts(sql: Sql): Promise<Map<string, number>> {
  const rows = await sql.all(
    `select claimed_by, count(*) from job where lease_policy = 'presence' and claimed_by is not null
     group by claimed_by`,
    [],
  );
  return new Map(rows.map(([name, n]) => [name as string, Number(n)]));
}

/** How many each has ended well since then. */
export async function doneSince(sql: Sql, at: number): Promise<Map<string, number>> {
  const rows = await sql.all(
    `select claimed_by, count(*) from job where lease_policy = 'presence' and claimed_by is not null
       and finished_at >= $1 and state = 'done' group by claimed_by`,
    [at],
  );
  return new Map(rows.map(([name, n]) => [name as string, Number(n)]));
}

/** What each works on; of several the one that it began last. */
export async function running(sql: Sql): Promise<Map<string, RunningTask>> {
  const rows = await sql.all(
    `select claimed_by, job_input.id, title, started_at from (
       select claimed_by, no, started_at,
         row_number() over (partition by claimed_by order by started_at desc, no desc) as place
       from job where state = 'running' and lease_policy = 'presence' and finished_at is null
     ) as held join job_input on job_no = no where place = 1`,
    [],
  );
  return new Map(
    rows.map(([name, id, title, startedAt]) => [
      name as string,
      { id: id as string, title: title as string | null, startedAt: startedAt as number | null },
    ]),
  );
}
