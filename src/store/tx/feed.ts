/** The feed: each commit leaves a row, the commit, that tells what happened. */

import type { FeedPlace, JobEvent } from '../../domain/event.ts';
import { perDialect, type Row, type Shape, type Sql } from '../sql/driver.ts';
import { newCommitKey } from '../sql/commit-key.ts';
import { nameCommits } from '../sql/history.ts';
import { entriesText, jobNosOfCommit, joinedEntries } from '../sql/packed-events.ts';
import { raiseSequence } from '../sql/sequence.ts';

// With one writer a commit's number is at once its place in the feed. On PostgreSQL it is drawn after the last row lock,
// so that commits of one job are numbered in job order.
const newCommit = perDialect((dialect) =>
  dialect === 'sqlite'
    ? `insert into feed_commit (no, pos, key, at, last, entries)
       select n, n, n, $1, $2, $3 from (select coalesce(max(no), 0) + 1 as n from feed_commit)`
    : `insert into feed_commit (at, last, entries, key)
       values ($1, $2, $3, ${newCommitKey({ dialect })}::bigint)`,
);

/** Tells of what happened to the jobs that this transaction wrote. To be called after them. */
export async function add(sql: Sql, events: readonly JobEvent[], at: number): Promise<void> {
  await sql.run(newCommit(sql), [at, events.length - 1, entriesText(events, (place) => place)]);
}

/**
 * Gives commits their place in the feed; on SQLite they have one at once. Only one server numbers at a time; the
 * others find the lock taken and leave it to that one.
 */
export async function number(sql: Sql, limit: number): Promise<number> {
  if (sql.dialect === 'sqlite') return 0;
  const [lock] = await sql.all(
    "select case when pg_try_advisory_xact_lock(hashtext('spine.feed')) then 1 else 0 end",
    [],
  );
  if (lock?.[0] !== 1) return 0;
  const text = `
    update feed_commit set pos = numbered.pos
    from (
      select no, nextval('feed_pos') as pos from (select no from feed_commit where pos is null order by no limit $1 + 0) as todo
    ) as numbered
    where feed_commit.no = numbered.no`;
  return sql.run(text, [limit]);
}

/** The newest commit stays: it keeps numbers from being used twice. */
const emptyOnes = perDialect(
  (dialect) => `
    delete from feed_commit where no in (
      select no from feed_commit where at < $1 and no < (select max(no) from feed_commit) and not exists (
        select 1 from job where job.no in (${jobNosOfCommit({ dialect })})
      ) order by no limit $2
    )`,
);

/** Drops old commits that tell of no job that is still there. */
export function dropEmpty(sql: Sql, before: number, limit: number) {
  return sql.run(emptyOnes(sql), [before, limit]);
}

const FEED_COMMIT: Shape = {
  table: 'feed_commit',
  columns: [
    ['no', 'bigint'],
    ['pos', 'bigint'],
    ['at', 'bigint'],
    ['key', 'bigint'],
    ['last', 'bigint'],
    ['entries', 'text'],
  ],
  onConflict: `on conflict (no) do update
    set last = excluded.last, entries = ${joinedEntries('feed_commit.entries', 'excluded.entries')}`,
};

/** Events that keep their sequence and their place in the feed. */
export async function insertRaw(sql: Sql, events: readonly (JobEvent & FeedPlace)[]): Promise<void> {
  if (events.length === 0) return;
  const commits = [...Map.groupBy(events, (event) => event.pos)].map(([pos, its]): Row => {
    const entries = entriesText(its, (place) => its[place]?.ordinal ?? 0);
    const last = its.at(-1);
    return [pos, pos, last?.at ?? 0, pos, last?.ordinal ?? 0, entries];
  });
  await sql.insert(FEED_COMMIT, commits);
  await nameCommits(
    sql,
    events.map(({ jobNo, seq, pos }) => ({ jobNo, seq, key: pos })),
  );
  await raiseSequence(sql, 'feed_commit');
  if (sql.dialect === 'postgres')
    await sql.all("select setval('feed_pos', (select max(pos) from feed_commit))", []);
}
