/** The feed: committed events in the order of their flushes. */

import type { FeedEvent, FeedPlace } from '../store.ts';
import { byNumber, type Sql } from './driver.ts';
import { entriesFrom, type Entry } from './event-row.ts';

/** Flushes looked at together: many of one event each, or a few of a thousand. */
const FLUSHES = 256;

interface Found extends Entry {
  readonly pos: number;
}

interface Page {
  readonly found: readonly Found[];
  /** The last place that was looked at. */
  readonly place: FeedPlace;
}

export async function feed(sql: Sql, after: FeedPlace, limit: number): Promise<FeedEvent[]> {
  const events: FeedEvent[] = [];
  let place = after;
  while (events.length < limit) {
    const page = await pageAfter(sql, place, limit - events.length);
    if (page === null) break;
    place = page.place;
    for (const event of await ofLivingJobs(sql, page.found)) events.push(event);
  }
  return events;
}

/** Whole flushes are read, as few as hold so many events, and nothing of those behind them. */
async function pageAfter(sql: Sql, after: FeedPlace, limit: number): Promise<Page | null> {
  const text = 'select pos, last from flush where pos >= $1 order by pos limit $2 + 0';
  const flushes = (await sql.all(text, [after.pos, FLUSHES])) as [pos: number, last: number][];
  let events = 0;
  let place: FeedPlace | null = null;
  for (const [pos, last] of flushes) {
    const left = pos === after.pos ? last - after.ordinal : last + 1;
    if (left <= 0) continue;
    place = { pos, ordinal: last };
    events += left;
    if (events >= limit) break;
  }
  if (place === null) return null;
  const between = 'select pos, entries from flush where pos between $1 and $2 order by pos';
  const rows = (await sql.all(between, [after.pos, place.pos])) as [pos: number, entries: string][];
  const found = rows.flatMap(([pos, entries]) =>
    entriesFrom(entries)
      .filter(({ ordinal }) => pos > after.pos || ordinal > after.ordinal)
      .map((entry): Found => ({ ...entry, pos })),
  );
  const last = found[limit - 1];
  return last === undefined ? { found, place } : { found: found.slice(0, limit), place: last };
}

const jobNames = byNumber('select no, id, target from job', 'no');

/** A job that was pruned leaves the feed with its events. */
async function ofLivingJobs(sql: Sql, found: readonly Found[]): Promise<FeedEvent[]> {
  const nos = [...new Set(found.map(({ jobNo }) => jobNo))];
  const rows = (await sql.byKeys(jobNames, nos)) as [number, string, string][];
  const jobs = new Map(rows.map(([no, jobId, target]) => [no, { jobId, target }]));
  return found.flatMap((event): FeedEvent[] => {
    const job = jobs.get(event.jobNo);
    return job === undefined ? [] : [{ ...event, ...job }];
  });
}

/** Along flush_by_pos from its end. */
export async function feedEnd(sql: Sql): Promise<FeedPlace> {
  const text = 'select pos, last from flush where pos is not null order by pos desc limit 1';
  const [row] = await sql.all(text, []);
  return row === undefined ? { pos: 0, ordinal: 0 } : { pos: row[0] as number, ordinal: row[1] as number };
}
