import type { JobEvent } from '../../src/domain/event.ts';
import { entriesText } from '../../src/store/sql/packed-events.ts';
import { type DirectSql, openSql, type PrefillTarget } from './sql.ts';

export interface PrefillCounts {
  readonly finished: number;
  readonly queued: number;
}

/** Rows are written in steps, so that no single transaction grows without limit. */
const STEP = 100_000;

/**
 * Multiplies jobs that a server made itself: one that is done and one that is queued must be there. Every
 * column comes from them, so the rows look exactly as the server writes them, whatever the schema is.
 * On SQLite no server may run meanwhile.
 */
export async function prefill(target: PrefillTarget, counts: PrefillCounts): Promise<void> {
  await using sql = await openSql(target);
  // Finished ones first: they are the older ones in real life too.
  await multiply(sql, 'done', counts.finished);
  await multiply(sql, 'queued', counts.queued);
  for (const statement of sql.afterwards) await sql.run(statement);
}

async function multiply(sql: DirectSql, state: 'done' | 'queued', count: number): Promise<void> {
  const template = await sql.number(`select max(no) from job where state = '${state}'`);
  if (template === 0) throw new Error(`there is no ${state} job to multiply`);
  for (let made = 0; made < count; made += STEP) await copyJobs(sql, template, Math.min(STEP, count - made));
  await sql.run(
    `insert into counter (lane, target, state, n) select 'prefill', target, state, ${count} from job where no = ${template}`,
  );
}

async function copyJobs(sql: DirectSql, template: number, count: number): Promise<void> {
  const job = await sql.number('select max(no) from job');
  const last = await sql.number('select max(no) from feed_commit');
  const pos = await sql.number('select coalesce(max(pos), 0) from feed_commit');
  const copy = async (table: string, where: string, changed: Record<string, string>): Promise<void> => {
    const columns = await sql.columns(table);
    const values = columns.map((column) => changed[column] ?? `t.${column}`);
    await sql.run(
      `insert into ${table} (${columns.join(', ')}) select ${values.join(', ')}
       from ${sql.series(count)} cross join ${table} as t where ${where}`,
    );
  };
  await sql.run('begin');
  // Each copy's events are one commit of their own; the sequence within the job is the order within it.
  const key = `${last} + n.i`;
  await copy('job', `t.no = ${template}`, {
    no: `${job} + n.i`,
    id: sql.newId,
    commits: `(${key}) || ','`,
  });
  await copy('job_input', `t.job_no = ${template}`, {
    job_no: `${job} + n.i`,
    id: `(select id from job where no = ${job} + n.i)`,
  });
  await sql.run(sql.words(`job_no > ${job}`));
  await copy('job_result', `t.job_no = ${template}`, { job_no: `${job} + n.i` });
  const events = await eventsOf(sql, template);
  const told = entriesText(events, (place) => place).replaceAll("'", "''");
  await copy('feed_commit', `t.no = ${last}`, {
    no: key,
    pos: `${pos} + n.i`,
    key,
    last: String(events.length - 1),
    entries: `replace('${told}', '[${COPY}]', '[' || (${job} + n.i) || ']')`,
  });
  await sql.run('commit');
}

/** Stands for the number of a copy in what is told of it. */
const COPY = 987_654_321;

/** What happened to a job, told of its copy. */
async function eventsOf(sql: DirectSql, job: number): Promise<JobEvent[]> {
  const events: JobEvent[] = [];
  const count = await sql.number(`select seq from job where no = ${job}`);
  for (let seq = 1; seq <= count; seq++) {
    const from = `from event where job_no = ${job} and seq = ${seq}`;
    events.push({
      jobNo: COPY,
      seq,
      at: await sql.number(`select at ${from}`),
      kind: (await sql.text(`select kind ${from}`)) as JobEvent['kind'],
      by: await sql.text(`select actor ${from}`),
      facts: JSON.parse(
        await sql.text(`select coalesce(cast(facts as text), 'null') ${from}`),
      ) as JobEvent['facts'],
    });
  }
  return events;
}
