/** How an event lies in its flush, in the row of its job, and in a row of its own. */

import type { JobEvent } from '../../domain/event.ts';
import type { FeedEntry, FeedPlace } from '../store.ts';
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

function factsText({ facts }: Pick<JobEvent, 'facts'>): string | null {
  return facts === null ? null : JSON.stringify(facts);
}

/** The same happened, at the same time and by the same hand: as it does to all jobs of a batch. */
function isSame(a: Happening, b: Happening): boolean {
  return a.at === b.at && a.kind === b.kind && a.by === b.by && haveSameFacts(a.facts, b.facts);
}

type Happening = Pick<JobEvent, 'at' | 'kind' | 'by' | 'facts'>;

/** Facts that hold more than plain values count as different: to look into them would cost more than to print them. */
function haveSameFacts(a: JobEvent['facts'], b: JobEvent['facts']): boolean {
  if (a === b) return true;
  if (a === null || b === null) return false;
  for (const name in a) if (a[name] !== b[name]) return false;
  for (const name in b) if (!(name in a)) return false;
  return true;
}

/** An event's parts as JSON; kinds are words of our own and need no escaping. */
function happeningText(event: Happening): string {
  return `${event.at},"${event.kind}",${JSON.stringify(event.by)},${factsText(event)}`;
}

/** Events that follow each other in the feed and differ only in their job and its count. */
type Group = [
  ordinal: number,
  at: number,
  kind: JobEvent['kind'],
  by: string,
  facts: JobEvent['facts'],
  jobNos: number[],
  seqs: number[],
];

/** All events of a flush in the order of the feed, as JSON. */
export function entriesText(events: readonly JobEvent[], ordinalOf: (place: number) => number): string {
  const groups: string[] = [];
  let from = 0;
  while (from < events.length) {
    const first = events[from] as JobEvent;
    const start = ordinalOf(from);
    const jobNos: number[] = [];
    const seqs: number[] = [];
    let place = from;
    for (; place < events.length; place++) {
      const event = events[place] as JobEvent;
      if (ordinalOf(place) !== start + place - from || !isSame(first, event)) break;
      jobNos.push(event.jobNo);
      seqs.push(event.seq);
    }
    groups.push(`[${start},${happeningText(first)},[${jobNos.join(',')}],[${seqs.join(',')}]]`);
    from = place;
  }
  return `[${groups.join(',')}]`;
}

/**
 * Adds what a flush tells after a place, until there are `limit` of them. Each is made once and in one shape, and
 * those of a group share their facts: the journal reads a hundred thousand in a second.
 */
export function pushEntries(
  entries: FeedEntry[],
  text: string,
  pos: number,
  after: FeedPlace,
  limit: number,
): void {
  const next = pos === after.pos ? after.ordinal + 1 : 0;
  for (const [ordinal, at, kind, by, facts, jobNos, seqs] of JSON.parse(text) as Group[]) {
    for (let i = Math.max(0, next - ordinal); i < jobNos.length && entries.length < limit; i++) {
      const jobNo = jobNos[i] as number;
      entries.push({ pos, ordinal: ordinal + i, jobNo, seq: seqs[i] as number, at, kind, by, facts });
    }
  }
}

/** What a flush tells of one job. */
export function eventsOfJob(text: string, jobNo: number): JobEvent[] {
  return (JSON.parse(text) as Group[]).flatMap(([, at, kind, by, facts, jobNos, seqs]) =>
    seqs.filter((_, i) => jobNos[i] === jobNo).map((seq): JobEvent => ({ jobNo, seq, at, kind, by, facts })),
  );
}

/** The jobs that a flush tells of, in SQL. */
export const jobNosOfFlush = perDialect((dialect) =>
  dialect === 'sqlite'
    ? `select told.value from json_each(flush.entries) as entry, json_each(entry.value, '$[5]') as told`
    : `select told.value::bigint from json_array_elements(flush.entries::json) as entry (value),
        json_array_elements_text(entry.value -> 5) as told (value)`,
);

/** When the job of the row was first claimed, in SQL. Flushes are looked up by their key, one after another. */
export const firstClaimAt = perDialect((dialect) => {
  const parts = `(
        select job.flushes as flushes
        union all select history.flushes from history where history.job_no = job.no
      ) as part`;
  const claims =
    dialect === 'sqlite'
      ? `select entry.value ->> 1 from ${parts}
         cross join json_each('[' || rtrim(part.flushes, ',') || ']') as noted
         cross join flush on flush.key = noted.value
         cross join json_each(flush.entries) as entry cross join json_each(entry.value, '$[5]') as told
         where entry.value ->> 2 = 'job.claimed' and told.value = job.no`
      : `select (entry.value ->> 1)::bigint from ${parts}
         cross join lateral json_array_elements_text(('[' || rtrim(part.flushes, ',') || ']')::json) as noted (value)
         cross join lateral (select entries from flush where key = noted.value::bigint offset 0) as found
         cross join lateral json_array_elements(found.entries::json) as entry (value)
         cross join lateral json_array_elements_text(entry.value -> 5) as told (value)
         where entry.value ->> 2 = 'job.claimed' and told.value::bigint = job.no`;
  return `(select min(at) from (
      select at from event where event.job_no = job.no and event.kind = 'job.claimed'
      union all ${claims}
    ) as claim)`;
});
