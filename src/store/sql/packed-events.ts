/**
 * How the events of a commit lie packed in its row of feed_commit; nobody else knows. They are a JSON array of
 * [ordinal, at, kind, by, facts, [job_no, …], [seq, …]], one for events that differ in nothing but their job and its count.
 * With one for each event a job takes 19 % more processor time when SQLite is drained in batches, 15 % more one by one
 * (`embedded-drain`), side by side on a shared 2-core machine.
 */

import type { FeedEntry, FeedPlace, JobEvent } from '../../domain/event.ts';
import { perDialect } from './driver.ts';

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

/** An event's parts as JSON. */
function happeningText({ at, kind, by, facts }: Happening): string {
  return `${at},${JSON.stringify(kind)},${JSON.stringify(by)},${facts === null ? 'null' : JSON.stringify(facts)}`;
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

/** All events of a commit in the order of the feed, as JSON. */
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

/** Puts the rest of a commit behind a part of it that is there, in SQL: both arrays become one. */
export function joinedEntries(part: string, rest: string): string {
  return `substr(${part}, 1, length(${part}) - 1) || ',' || substr(${rest}, 2)`;
}

/**
 * Adds what a commit tells after a place, until there are `limit` of them. Each is made once and in one shape, and
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

/** What a commit tells of one job. */
export function eventsOfJob(text: string, jobNo: number): JobEvent[] {
  return (JSON.parse(text) as Group[]).flatMap(([, at, kind, by, facts, jobNos, seqs]) =>
    seqs.filter((_, i) => jobNos[i] === jobNo).map((seq): JobEvent => ({ jobNo, seq, at, kind, by, facts })),
  );
}

/** An entry's parts. PostgreSQL's `->` reads all of them to find one, and refuses a NUL in facts that nobody asked for. */
const PARTS = 'array(select json_array_elements(entry.value))';

/** The jobs that a commit tells of, in SQL. */
export const jobNosOfCommit = perDialect((dialect) =>
  dialect === 'sqlite'
    ? `select told.value from json_each(feed_commit.entries) as entry, json_each(entry.value, '$[5]') as told`
    : `select told.value::bigint from json_array_elements(feed_commit.entries::json) as entry (value),
        json_array_elements_text((${PARTS})[6]) as told (value)`,
);

/**
 * Each event as a row of its own, in SQL: those that the commits tell which a job names. From the job on, so that the
 * events of one job are found at once; the cross joins hold SQLite to that order, and the offset PostgreSQL. A commit that
 * is named twice is looked at once.
 */
export const unpackedEvents = perDialect((dialect) =>
  dialect === 'sqlite'
    ? `select job.no as job_no, entry.value ->> ('$[6][' || told.key || ']') as seq, entry.value ->> 1 as at,
  entry.value ->> 2 as kind, entry.value ->> 3 as actor, nullif(entry.value -> 4, 'null') as facts
from job
cross join feed_commit on feed_commit.key in (select named.value from json_each('[' || rtrim(${namedBy('group_concat')}, ',') || ']') as named)
cross join json_each(feed_commit.entries) as entry
cross join json_each(entry.value, '$[5]') as told
where told.value = job.no`
    : `select job.no as job_no, (part.of[7] ->> (told.place - 1)::int)::bigint as seq, part.of[2]::text::bigint as at,
  ${postgresText('part.of[3]')} as kind, ${postgresText('part.of[4]')} as actor, nullif(part.of[5]::text, 'null')::json as facts
from job
cross join lateral (
  select feed_commit.entries from feed_commit
  where feed_commit.key = any (string_to_array(rtrim(${namedBy('string_agg')}, ','), ',')::bigint[]) offset 0
) as found
cross join lateral json_array_elements(found.entries::json) as entry (value)
cross join lateral (select ${PARTS} offset 0) as part (of)
cross join lateral json_array_elements_text(part.of[6]) with ordinality as told (value, place)
where told.value::bigint = job.no`,
);

/** The keys of all commits that tell of a job, a comma behind each. */
function namedBy(concatenation: string): string {
  return `coalesce((select ${concatenation}(history.commits, '') from history where history.job_no = job.no), '') || job.commits`;
}

/** PostgreSQL has no text with a NUL or half a character in it: such a name stays JSON. */
function postgresText(json: string): string {
  return `case when strpos(${json}::text, '\\u') > 0 then ${json}::text else ${json} #>> '{}' end`;
}
