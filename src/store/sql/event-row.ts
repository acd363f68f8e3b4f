/** How an event lies in its row. */

import type { JobEvent } from '../../domain/event.ts';
import type { Row, Shape } from './driver.ts';

export const EVENT: Shape = {
  table: 'event',
  columns: [
    ['flush_no', 'bigint'],
    ['ordinal', 'bigint'],
    ['job_no', 'bigint'],
    ['seq', 'bigint'],
    ['at', 'bigint'],
    ['kind', 'text'],
    ['actor', 'text'],
    ['facts', 'text'],
  ],
};

/** The first value is the flush's number, which is not known yet. */
export function eventRow(event: JobEvent, ordinal: number): Row {
  const facts = event.facts === null ? null : JSON.stringify(event.facts);
  return [null, ordinal, event.jobNo, event.seq, event.at, event.kind, event.by, facts];
}

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
