/** The feed: committed events in the order of their commits. */

import type { FeedEntry, FeedEvent, FeedPlace, JobEvent } from '../../domain/event.ts';
import { byNumber, type Sql } from '../sql/driver.ts';
import { entriesByKey } from '../sql/commit-key.ts';
import { eventsOfJob, pushEntries } from '../sql/packed-events.ts';

/** Commits looked at together: many of one event each, or a few of a thousand. */
const COMMITS = 256;

/** Committed events after a place in the feed, in feed order, also those of jobs that were pruned since. */
export async function entries(sql: Sql, after: FeedPlace, limit: number): Promise<FeedEntry[]> {
  const found: FeedEntry[] = [];
  let place = after;
  while (found.length < limit) {
    const range = await commitsAfter(sql, place, limit - found.length);
    if (range === null) break;
    const text = 'select pos, entries from feed_commit where pos between $1 and $2 order by pos';
    const rows = (await sql.all(text, [range.from, range.last.pos])) as [pos: number, entries: string][];
    for (const [pos, told] of rows) pushEntries(found, told, pos, place, limit);
    place = range.last;
  }
  return found;
}

interface Range {
  readonly from: number;
  readonly last: FeedPlace;
}

/** Commits are read whole: as few as hold so many events, and nothing of those behind them. */
async function commitsAfter(sql: Sql, after: FeedPlace, limit: number): Promise<Range | null> {
  const text = 'select pos, last from feed_commit where pos >= $1 order by pos limit $2 + 0';
  const commits = (await sql.all(text, [after.pos, COMMITS])) as [pos: number, last: number][];
  let events = 0;
  let from: number | null = null;
  let place = after;
  for (const [pos, last] of commits) {
    const left = pos === after.pos ? last - after.ordinal : last + 1;
    if (left <= 0) continue;
    from ??= pos;
    place = { pos, ordinal: last };
    events += left;
    if (events >= limit) break;
  }
  return from === null ? null : { from, last: place };
}

/** Those of jobs that are still there, with the names of the jobs. */
export async function after(sql: Sql, from: FeedPlace, limit: number): Promise<FeedEvent[]> {
  const events: FeedEvent[] = [];
  let place = from;
  while (events.length < limit) {
    const wanted = limit - events.length;
    const found = await entries(sql, place, wanted);
    const jobs = await jobsOf(sql, found);
    for (const { pos, ordinal, jobNo, seq, at, kind, by, facts } of found) {
      const job = jobs.get(jobNo);
      if (job === undefined) continue;
      const [, jobId, target, traceparent] = job;
      events.push({ pos, ordinal, jobNo, seq, at, kind, by, facts, jobId, target, traceparent });
    }
    const last = found[wanted - 1];
    if (last === undefined) break;
    place = last;
  }
  return events;
}

type JobNames = [no: number, id: string, target: string, traceparent: string | null];
const jobNames = byNumber('select no, id, target, traceparent from job', 'no');

async function jobsOf(sql: Sql, found: readonly FeedEntry[]): Promise<ReadonlyMap<number, JobNames>> {
  if (found.length === 0) return new Map();
  const nos = new Set(found.map(({ jobNo }) => jobNo));
  const rows = (await sql.byKeys(jobNames, [...nos])) as JobNames[];
  return new Map(rows.map((row) => [row[0], row]));
}

/** When the oldest commit was made that has no place yet; along feed_commit_unnumbered. */
export async function unnumberedAt(sql: Sql): Promise<number | null> {
  const [row] = await sql.all('select at from feed_commit where pos is null order by no limit 1', []);
  return row === undefined ? null : (row[0] as number);
}

/** The last place in the feed that is taken; along feed_commit_by_pos from its end. */
export async function end(sql: Sql): Promise<FeedPlace> {
  const text = 'select pos, last from feed_commit where pos is not null order by pos desc limit 1';
  const [row] = await sql.all(text, []);
  return row === undefined ? { pos: 0, ordinal: 0 } : { pos: row[0] as number, ordinal: row[1] as number };
}

/** About so many commits are read and unpacked in one go. */
const COMMITS_OF_JOB = 32;

/** One statement sees one moment: what moves out of the row meanwhile is found in one of both places. */
const NAMED = `
  select upto, commits from (
    select upto, commits from history where job_no = $1 and upto > $2 order by upto limit $3 + 0
  ) as beside
  union all select seq, commits from job where no = $1
  order by 1`;

/** The events of one job: its row, or rows beside it, name the commits that tell of them. */
export async function ofJob(sql: Sql, jobNo: number, afterSeq: number, limit: number): Promise<JobEvent[]> {
  const events = new Map<number, JobEvent>();
  const unread = new Set<number>();
  const parts = await sql.all(NAMED, [jobNo, afterSeq, limit]);
  for (const [i, [, commits]] of parts.entries()) {
    for (const key of keysIn(commits as string)) unread.add(key);
    if (unread.size < COMMITS_OF_JOB && i < parts.length - 1) continue;
    for (const [entries] of await sql.byKeys(entriesByKey, [...unread]))
      for (const event of eventsOfJob(entries as string, jobNo))
        if (event.seq > afterSeq) events.set(event.seq, event);
    if (events.size >= limit) break;
    unread.clear();
  }
  return [...events.values()].toSorted((a, b) => a.seq - b.seq).slice(0, limit);
}

/** The keys of the commits at these places of the feed. */
export async function keysBetween(sql: Sql, from: number, to: number): Promise<ReadonlyMap<number, number>> {
  const rows = await sql.all('select pos, key from feed_commit where pos between $1 and $2', [from, to]);
  return new Map(rows as [pos: number, key: number][]);
}

const namedInRow = byNumber('select no, commits from job', 'no');
const namedBeside = byNumber('select job_no, commits from history', 'job_no');

/** The keys of all commits that these jobs name: what a job does not name is not found among its events. */
export async function keysNamedBy(
  sql: Sql,
  jobNos: readonly number[],
): Promise<ReadonlyMap<number, ReadonlySet<number>>> {
  const named = new Map<number, Set<number>>(jobNos.map((no) => [no, new Set()]));
  if (jobNos.length === 0) return named;
  const rows = [...(await sql.byKeys(namedInRow, jobNos)), ...(await sql.byKeys(namedBeside, jobNos))];
  for (const [no, commits] of rows as [no: number, commits: string][])
    for (const key of keysIn(commits)) named.get(no)?.add(key);
  return named;
}

function keysIn(commits: string): number[] {
  return commits.split(',').slice(0, -1).map(Number);
}
