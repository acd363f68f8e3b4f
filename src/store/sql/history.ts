/** The events of one job. Its row names the flushes that tell of them; those of a long life are named in rows beside it. */

import type { JobEvent } from '../../domain/event.ts';
import type { Job } from '../../domain/job.ts';
import { byNumber, type Sql } from './driver.ts';
import { EVENT_COLUMNS, eventFrom, eventsOfJob } from './event-row.ts';
import { entriesByKey } from './flush-key.ts';

/** So many events of a job at most are noted in its row. Most jobs never have more. */
const NOTED_IN_ROW = 32;

export async function eventsOf(
  sql: Sql,
  jobNo: number,
  afterSeq: number,
  limit: number,
): Promise<JobEvent[]> {
  // The row first: what moves out of it meanwhile is found once more, and never missed.
  const [row] = await sql.all('select flushes from job where no = $1', [jobNo]);
  const parts = await sql.all(
    'select flushes from history where job_no = $1 and upto > $2 order by upto limit $3 + 0',
    [jobNo, afterSeq, limit],
  );
  const imported = await sql.all(
    `select ${EVENT_COLUMNS} from event where job_no = $1 and seq > $2 order by seq limit $3 + 0`,
    [jobNo, afterSeq, limit],
  );
  const events = new Map(imported.map(eventFrom).map((event) => [event.seq, event]));
  for (const [flushes] of [...parts, ...(row === undefined ? [] : [row])]) {
    if (events.size >= limit && imported.length === 0) break;
    for (const event of await toldBy(sql, jobNo, flushes as string))
      if (event.seq > afterSeq) events.set(event.seq, event);
  }
  return [...events.values()].toSorted((a, b) => a.seq - b.seq).slice(0, limit);
}

async function toldBy(sql: Sql, jobNo: number, flushes: string): Promise<JobEvent[]> {
  const keys = new Set(flushes.split(',').slice(0, -1).map(Number));
  const rows = await sql.byKeys(entriesByKey, [...keys]);
  return rows.flatMap(([entries]) => eventsOfJob(entries as string, jobNo));
}

/** Whether the row names enough flushes with this change. */
export function outgrowsRow(before: Job, after: Job): boolean {
  return Math.floor(after.seq / NOTED_IN_ROW) > Math.floor(before.seq / NOTED_IN_ROW);
}

const copy = byNumber(
  'insert into history (job_no, upto, flushes) select no, seq, flushes from job',
  'no',
  'on conflict (job_no, upto) do update set flushes = history.flushes || excluded.flushes',
);
const clear = byNumber("update job set flushes = ''", 'no');

/** Moves what these rows have noted so far into rows of its own. */
export async function moveOut(sql: Sql, nos: readonly number[]): Promise<void> {
  if (nos.length > 0) await Promise.all([sql.byKeys(copy, nos), sql.byKeys(clear, nos)]);
}
