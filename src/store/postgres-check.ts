/** PostgreSQL's own check of its indexes where it has one, and whether what is kept twice says the same. */

import { Client } from 'pg';

const STATEMENT_MS = 600_000;

export interface PostgresHealth {
  /** What is wrong with the indexes; null when nobody here can tell. */
  readonly indexes: readonly string[] | null;
  readonly rows: readonly string[];
  readonly jobs: number;
}

const COUNTERS = `
  select target || ' ' || state as found from (
    (select target, state, sum(n)::bigint as n from counter group by target, state having sum(n) <> 0
     except select target, state, count(*) from job group by target, state)
    union (select target, state, count(*) from job group by target, state
     except select target, state, sum(n)::bigint from counter group by target, state)) as other limit 10`;
const INPUTS = `
  select job.no::text as found from job left join job_input input on input.job_no = job.no
  where input.id is distinct from job.id limit 10`;
const WORDS = `
  select job_no::text as found from job_input input where (title is not null or description is not null)
  and not exists (select 1 from job_text where job_text.job_no = input.job_no) limit 10`;

export async function checkPostgres(url: string): Promise<PostgresHealth> {
  const client = new Client({
    connectionString: url,
    statement_timeout: STATEMENT_MS,
    application_name: 'spine doctor',
  });
  await client.connect();
  const said = async (text: string): Promise<string[]> =>
    (await client.query<{ found: string }>(text)).rows.map(({ found }) => found);
  try {
    const indexes = await checkIndexes(said);
    // One snapshot for all of them: the servers go on.
    await client.query('begin isolation level repeatable read read only');
    const counters = await said(COUNTERS);
    const inputs = await said(INPUTS);
    const words = await said(WORDS);
    const [jobs = '0'] = await said('select count(*)::text as found from job');
    const rows = [
      ...named('the counters say another number of jobs than there are', counters),
      ...named('jobs have no input or another id in it', inputs),
      ...named('the search index lacks jobs', words),
    ];
    return { indexes, rows, jobs: Number(jobs) };
  } finally {
    await client.end();
  }
}

async function checkIndexes(said: (text: string) => Promise<string[]>): Promise<readonly string[] | null> {
  if ((await said("select extname as found from pg_extension where extname = 'amcheck'")).length === 0)
    return null;
  const names = await said(
    `select c.oid::regclass::text as found from pg_class c join pg_am on pg_am.oid = c.relam
     join pg_namespace n on n.oid = c.relnamespace
     where c.relkind = 'i' and pg_am.amname = 'btree' and n.nspname = current_schema() order by 1`,
  );
  const wrong: string[] = [];
  for (const name of names) {
    // Each row of the table must be in its index too.
    await said(`select bt_index_check('${name.replaceAll("'", "''")}'::regclass, true)::text as found`).catch(
      (error: Error) => void wrong.push(`${name}: ${error.message}`),
    );
  }
  return wrong;
}

function named(what: string, found: readonly string[]): string[] {
  return found.length === 0 ? [] : [`${what}: ${found.join(', ')}`];
}
