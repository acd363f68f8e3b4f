/** The events of one job: the newest in its own row, the others in rows of theirs. */

import type { JobEvent } from '../../domain/event.ts';
import type { Change } from '../store.ts';
import { type KeyQuery, perDialect, type Sql } from './driver.ts';
import { EVENT_COLUMNS, eventFrom, eventSql, historyFrom } from './event-row.ts';

/** So many events of a job at most lie in its row. Most jobs never have more. */
const KEPT_IN_ROW = 8;
/** Longer ones would be written again with every heartbeat. */
const KEPT_CHARS = 1_000;

export async function eventsOf(
  sql: Sql,
  jobNo: number,
  afterSeq: number,
  limit: number,
): Promise<JobEvent[]> {
  // The row first: what moves out of it meanwhile is found once more, and never missed.
  const [row] = await sql.all('select history from job where no = $1', [jobNo]);
  const moved = await sql.all(
    `select ${EVENT_COLUMNS} from event where job_no = $1 and seq > $2 order by seq limit $3 + 0`,
    [jobNo, afterSeq, limit],
  );
  const events = new Map(moved.map(eventFrom).map((event) => [event.seq, event]));
  for (const event of historyFrom(jobNo, (row?.[0] ?? '') as string))
    if (event.seq > afterSeq) events.set(event.seq, event);
  return [...events.values()].toSorted((a, b) => a.seq - b.seq).slice(0, limit);
}

/** Whether the row has got enough of its history with this change. */
export function outgrowsRow({ before, after }: Change, added: string): boolean {
  return (
    added.length > KEPT_CHARS || Math.floor(after.seq / KEPT_IN_ROW) > Math.floor(before.seq / KEPT_IN_ROW)
  );
}

const moves = perDialect((dialect): { copy: KeyQuery; clear: KeyQuery } => {
  const { history, seq, at, kind, actor, facts } = eventSql({ dialect });
  const copy = `insert into event (${EVENT_COLUMNS})
    select job.no, ${seq}, ${at}, ${kind}, ${actor}, ${facts} from job cross join ${history} where job.no`;
  const clear = "update job set history = '' where no";
  const query = (text: string): KeyQuery => ({ one: `${text} = $1`, many: `${text} = any($1::bigint[])` });
  return { copy: query(copy), clear: query(clear) };
});

/** Moves what lies in the rows of these jobs into rows of its own. */
export async function moveOut(sql: Sql, nos: readonly number[]): Promise<void> {
  if (nos.length === 0) return;
  const { copy, clear } = moves(sql);
  await Promise.all([sql.byKeys(copy, nos), sql.byKeys(clear, nos)]);
}
