/** What bots hold and held. Their jobs have an index of their own, job_by_bot, in the order of their ends. */

import type { HeldFilter, RunningTask } from '../../domain/bot.ts';
import type { Job } from '../../domain/job.ts';
import type { KeyQuery, Sql, Value } from '../sql/driver.ts';
import { JOB_COLUMNS, jobFrom } from '../sql/job-row.ts';
import { only } from '../sql/rows.ts';

/** What a bot runs, then what it ended, the last end first. */
export async function held(sql: Sql, name: string, filter: HeldFilter): Promise<Job[]> {
  const { states, typeNo, retries, limit } = filter;
  const ended = states.filter((state) => state !== 'running');
  const select = (which: string, values: readonly Value[]) => {
    const further = `${typeNo === null ? '' : ` and type_no = $${values.length + 2}`}${retries ? ' and retry_count > 0' : ''}`;
    const params = [name, ...values, ...(typeNo === null ? [] : [typeNo])];
    const text = `select ${JOB_COLUMNS} from job where claimed_by = $1 and lease_policy = 'presence' and ${which}${further}
      order by finished_at desc limit $${params.length + 1} + 0`;
    return sql.all(text, [...params, limit]);
  };
  const running = states.includes('running')
    ? await select("finished_at is null and state = 'running'", [])
    : [];
  const places = ended.map((_, i) => `$${i + 2}`).join(', ');
  const over =
    ended.length === 0 ? [] : await select(`finished_at is not null and state in (${places})`, ended);
  return [...running, ...over].map(jobFrom);
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
export async function running(sql: Sql, limit: number): Promise<Map<string, RunningTask>> {
  const rows = await sql.all(
    `select claimed_by, job.id, title, started_at from job join job_input on job_no = no
     where state = 'running' and lease_policy = 'presence' and finished_at is null order by started_at limit $1 + 0`,
    [limit],
  );
  return new Map(
    rows.map(([name, id, title, startedAt]) => [
      name as string,
      { id: id as string, title: title as string | null, startedAt: startedAt as number | null },
    ]),
  );
}
