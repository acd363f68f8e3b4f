/** Rows that come from elsewhere with the numbers they had: import and rebuild. */

import type { JobEvent } from '../../domain/event.ts';
import type { Job, JobInput } from '../../domain/job.ts';
import type { FeedPlace, JobType } from '../store.ts';
import type { Row, Shape, Sql } from './driver.ts';
import { entriesText, EVENT, eventRow } from './event-row.ts';
import { appendEvents } from './events.ts';
import { JOB_RAW, rawRow } from './job-row.ts';
import { insertWords } from './search.ts';
import { insertTags } from './tags.ts';
import { INPUT, inputRow, TYPE_COLUMNS } from './texts.ts';

export async function insertJobsRaw(sql: Sql, rows: readonly { job: Job; input: JobInput }[]): Promise<void> {
  await sql.insert(
    JOB_RAW,
    rows.map(({ job }) => rawRow(job)),
  );
  await sql.insert(
    INPUT,
    rows.map(({ job, input }) => inputRow(job.no, job.id, input)),
  );
  await insertWords(
    sql,
    rows.map(({ job, input }) => ({ jobNo: job.no, input })),
  );
  await insertTags(
    sql,
    rows.map(({ job, input }) => ({ jobNo: job.no, tags: input.tags })),
  );
  await raiseSequence(sql, 'job');
}

/** Events that keep the sequence numbers they had, as one new flush. */
export function insertEventsRaw(sql: Sql, events: readonly JobEvent[]) {
  return appendEvents(sql, events, events.at(-1)?.at ?? 0);
}

const FLUSH: Shape = {
  table: 'flush',
  columns: [
    ['no', 'bigint'],
    ['pos', 'bigint'],
    ['at', 'bigint'],
    ['key', 'bigint'],
    ['last', 'bigint'],
    ['entries', 'text'],
  ],
  // The rest of a flush of which a part came before: both arrays become one.
  onConflict: `on conflict (no) do update
    set last = excluded.last, entries = substr(flush.entries, 1, length(flush.entries) - 1) || ',' || substr(excluded.entries, 2)`,
};

export async function insertFeedRaw(sql: Sql, events: readonly (JobEvent & FeedPlace)[]): Promise<void> {
  if (events.length === 0) return;
  const flushes = [...Map.groupBy(events, (event) => event.pos)].map(([pos, its]): Row => {
    const entries = entriesText(its, (place) => its[place]?.ordinal ?? 0);
    const last = its.at(-1);
    return [pos, pos, last?.at ?? 0, pos, last?.ordinal ?? 0, entries];
  });
  await sql.insert(FLUSH, flushes);
  await sql.insert(EVENT, events.map(eventRow));
  await raiseSequence(sql, 'flush');
  if (sql.dialect === 'postgres')
    await sql.all("select setval('feed_pos', (select max(pos) from flush))", []);
}

/** PostgreSQL draws new numbers from a sequence, which must not meet the ones that were brought along. */
async function raiseSequence(sql: Sql, table: 'job' | 'flush' | 'job_type'): Promise<void> {
  if (sql.dialect === 'sqlite') return;
  await sql.all(
    `select setval(pg_get_serial_sequence('${table}', 'no'), (select max(no) from ${table}))`,
    [],
  );
}

export async function insertTypeRaw(sql: Sql, type: JobType): Promise<void> {
  await sql.run(
    `insert into job_type (${TYPE_COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict do nothing`,
    [
      type.no,
      type.name,
      type.label,
      type.sop,
      type.paramsSchema,
      type.active ? 1 : 0,
      type.createdAt,
      type.updatedAt,
    ],
  );
  await raiseSequence(sql, 'job_type');
}
