/** How an event lies in its row. */

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
  const facts = event.facts === null ? null : JSON.stringify(event.facts);
  return [event.jobNo, event.seq, event.at, event.kind, event.by, facts];
}

/** Where events stand in their flush, as the flush keeps it: [ordinal, job, sequence in the job], in a JSON array. */
export function entriesOf(
  events: readonly Pick<JobEvent, 'jobNo' | 'seq'>[],
  ordinalOf: (at: number) => number,
): string {
  return `[${events.map(({ jobNo, seq }, at) => `[${ordinalOf(at)},${jobNo},${seq}]`).join(',')}]`;
}

/** A flush's entries as rows, and what of an entry is which. */
export const entryRows = perDialect((dialect) =>
  dialect === 'sqlite'
    ? {
        rows: 'json_each(flush.entries) as entry',
        ordinal: '(entry.value ->> 0)',
        jobNo: '(entry.value ->> 1)',
        seq: '(entry.value ->> 2)',
      }
    : {
        rows: 'jsonb_array_elements(flush.entries::jsonb) as entry (value)',
        ordinal: '(entry.value ->> 0)::bigint',
        jobNo: '(entry.value ->> 1)::bigint',
        seq: '(entry.value ->> 2)::bigint',
      },
);

export const EVENT_COLUMNS = 'job_no, seq, at, kind, actor, facts';

export function eventFrom(row: Row): JobEvent {
  return {
    jobNo: row[0] as number,
    seq: row[1] as number,
    at: row[2] as number,
    kind: row[3] as JobEvent['kind'],
    by: row[4] as string,
    facts: row[5] === null ? null : (JSON.parse(row[5] as string) as Record<string, unknown>),
  };
}
