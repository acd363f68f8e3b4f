/** The feed: committed events in the order of their flushes. */

import type { FeedEntry, FeedEvent, FeedPlace } from '../store.ts';
import { byNumber, type Sql } from './driver.ts';
import { pushEntries } from './event-row.ts';

/** Flushes looked at together: many of one event each, or a few of a thousand. */
const FLUSHES = 256;

export async function entries(sql: Sql, after: FeedPlace, limit: number): Promise<FeedEntry[]> {
  const found: FeedEntry[] = [];
  let place = after;
  while (found.length < limit) {
    const range = await flushesAfter(sql, place, limit - found.length);
    if (range === null) break;
    const text = 'select pos, entries from flush where pos between $1 and $2 order by pos';
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

/** Flushes are read whole: as few as hold so many events, and nothing of those behind them. */
async function flushesAfter(sql: Sql, after: FeedPlace, limit: number): Promise<Range | null> {
  const text = 'select pos, last from flush where pos >= $1 order by pos limit $2 + 0';
  const flushes = (await sql.all(text, [after.pos, FLUSHES])) as [pos: number, last: number][];
  let events = 0;
  let from: number | null = null;
  let place = after;
  for (const [pos, last] of flushes) {
    const left = pos === after.pos ? last - after.ordinal : last + 1;
    if (left <= 0) continue;
    from ??= pos;
    place = { pos, ordinal: last };
    events += left;
    if (events >= limit) break;
  }
  return from === null ? null : { from, last: place };
}

/** A job that was pruned leaves the feed with its events. */
export async function feed(sql: Sql, after: FeedPlace, limit: number): Promise<FeedEvent[]> {
  const events: FeedEvent[] = [];
  let place = after;
  while (events.length < limit) {
    const wanted = limit - events.length;
    const found = await entries(sql, place, wanted);
    const jobs = await jobsOf(sql, found);
    for (const { pos, ordinal, jobNo, seq, at, kind, by, facts } of found) {
      const job = jobs.get(jobNo);
      if (job === undefined) continue;
      const [, jobId, target] = job;
      events.push({ pos, ordinal, jobNo, seq, at, kind, by, facts, jobId, target });
    }
    const last = found[wanted - 1];
    if (last === undefined) break;
    place = last;
  }
  return events;
}

type JobNames = [no: number, id: string, target: string];
const jobNames = byNumber('select no, id, target from job', 'no');

async function jobsOf(sql: Sql, found: readonly FeedEntry[]): Promise<ReadonlyMap<number, JobNames>> {
  if (found.length === 0) return new Map();
  const nos = new Set(found.map(({ jobNo }) => jobNo));
  const rows = (await sql.byKeys(jobNames, [...nos])) as JobNames[];
  return new Map(rows.map((row) => [row[0], row]));
}

/** Along flush_by_pos from its end. */
export async function feedEnd(sql: Sql): Promise<FeedPlace> {
  const text = 'select pos, last from flush where pos is not null order by pos desc limit 1';
  const [row] = await sql.all(text, []);
  return row === undefined ? { pos: 0, ordinal: 0 } : { pos: row[0] as number, ordinal: row[1] as number };
}
