/** How an event lies in its flush, in the row of its job, and in a row of its own. */

import type { JobEvent } from '../../domain/event.ts';
import { perDialect, type Row, type Shape } from './driver.ts';

export const EVENT: Shape = {
  table: 'event',
  columns: [
    ['job_no', 'bigint'],
    ['seq', 'bigint'],
    ['at', 'bigint'],
    ['kind', 'text'],
    ['actor', 'text'],
    ['facts', 'text'],
  ],
};

export function eventRow(event: JobEvent): Row {
  return [event.jobNo, event.seq, event.at, event.kind, event.by, factsText(event)];
}

export const EVENT_COLUMNS = 'job_no, seq, at, kind, actor, facts';

export function eventFrom(row: Row): JobEvent {
  return {
    jobNo: row[0] as number,
    seq: row[1] as number,
    at: row[2] as number,
    kind: row[3] as JobEvent['kind'],
    by: row[4] as string,
    facts: row[5] === null ? null : (JSON.parse(row[5] as string) as JobEvent['facts']),
  };
}

/** An event as JSON without the brackets around it; kinds are words of our own and need no escaping. */
function told(event: Omit<JobEvent, 'jobNo'>): string {
  return `${event.seq},${event.at},"${event.kind}",${JSON.stringify(event.by)},${factsText(event)}`;
}

function factsText({ facts }: Pick<JobEvent, 'facts'>): string | null {
  return facts === null ? null : JSON.stringify(facts);
}

type Told = [seq: number, at: number, kind: JobEvent['kind'], by: string, facts: JobEvent['facts']];

/**
 * The newest events of a job as they lie in its own row, which is written anyhow: JSON arrays with a comma behind each,
 * so that another one is added by writing it behind them.
 */
export function historyText(events: readonly Omit<JobEvent, 'jobNo'>[]): string {
  let text = '';
  for (const event of events) text += `[${told(event)}],`;
  return text;
}

export function historyFrom(jobNo: number, text: string): JobEvent[] {
  const events = JSON.parse(`[${text.slice(0, -1)}]`) as Told[];
  return events.map(([seq, at, kind, by, facts]) => ({ jobNo, seq, at, kind, by, facts }));
}

/** All events of a flush: a JSON array of [ordinal, job, …] in the order of the feed. */
export function entriesText(events: readonly JobEvent[], ordinalOf: (place: number) => number): string {
  const entries = events.map((event, place) => `[${ordinalOf(place)},${event.jobNo},${told(event)}]`);
  return `[${entries.join(',')}]`;
}

export interface Entry extends JobEvent {
  readonly ordinal: number;
}

export function entriesFrom(text: string): Entry[] {
  const entries = JSON.parse(text) as [ordinal: number, jobNo: number, ...Told][];
  return entries.map(([ordinal, jobNo, seq, at, kind, by, facts]) => ({
    ordinal,
    jobNo,
    seq,
    at,
    kind,
    by,
    facts,
  }));
}

/** The same in SQL: the jobs that a flush tells of, and a job's history as rows. */
export const eventSql = perDialect((dialect) => {
  const history = "'[' || rtrim(job.history, ',') || ']'";
  const item = (place: number): string => `(item.value ->> ${place})`;
  return dialect === 'sqlite'
    ? {
        entries: 'json_each(flush.entries) as entry',
        entryJobNo: '(entry.value ->> 1)',
        history: `json_each(${history}) as item`,
        seq: item(0),
        at: item(1),
        kind: item(2),
        actor: item(3),
        facts: item(4),
      }
    : {
        entries: 'json_array_elements(flush.entries::json) as entry (value)',
        entryJobNo: '(entry.value ->> 1)::bigint',
        history: `lateral json_array_elements((${history})::json) as item (value)`,
        seq: `${item(0)}::bigint`,
        at: `${item(1)}::bigint`,
        kind: item(2),
        actor: item(3),
        facts: item(4),
      };
});

/** When the job of the row was first claimed. */
export const firstClaimAt = perDialect((dialect) => {
  const { history, at, kind } = eventSql({ dialect });
  return `(select min(at) from (
      select at from event where event.job_no = job.no and event.kind = 'job.claimed'
      union all select ${at} from ${history} where ${kind} = 'job.claimed'
    ) as claim)`;
});
