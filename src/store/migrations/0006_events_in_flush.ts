/**
 * Events lie in the row of their flush, what happened alike to many jobs only once, and a job's row names the flushes
 * that tell of it. Both rows are written anyhow; before, every event had one to itself, a quarter of the work of a claim
 * or an end on PostgreSQL. The table of events keeps those from before, and those that are brought in from elsewhere.
 */

import { runsView } from './0003_views.ts';
import type { Migration } from './migration.ts';

/** When a job was first claimed. */
function startedAt(claims: string): string {
  return `(select min(at) from (
    select at from event where event.job_no = job.no and event.kind = 'job.claimed' union all ${claims}
  ) as claim)`;
}

const parts = `(
  select job.flushes as flushes union all select history.flushes from history where history.job_no = job.no
) as part`;

const sqliteClaims = `select entry.value ->> 1 from ${parts}
  cross join json_each('[' || rtrim(part.flushes, ',') || ']') as noted
  cross join flush on flush.key = noted.value
  cross join json_each(flush.entries) as entry cross join json_each(entry.value, '$[5]') as told
  where entry.value ->> 2 = 'job.claimed' and told.value = job.no`;

const postgresClaims = `select (entry.value ->> 1)::bigint from ${parts}
  cross join lateral json_array_elements_text(('[' || rtrim(part.flushes, ',') || ']')::json) as noted (value)
  cross join lateral (select entries from flush where key = noted.value::bigint offset 0) as found
  cross join lateral json_array_elements(found.entries::json) as entry (value)
  cross join lateral json_array_elements_text(entry.value -> 5) as told (value)
  where entry.value ->> 2 = 'job.claimed' and told.value::bigint = job.no`;

export const SQLITE_STARTED_AT = startedAt(sqliteClaims);
export const POSTGRES_STARTED_AT = startedAt(postgresClaims);

// Statistics were gathered when a server closed. Those of a small database make SQLite read a large one from end to end;
// without any it goes by the indexes.
const withoutStatistics = `
analyze sqlite_schema;
delete from sqlite_stat1;
analyze sqlite_schema;
`;

// `entries` is a JSON array of [ordinal, at, kind, actor, facts, [job_no, …], [seq, …]], one for events that differ in
// nothing else; `last` is the highest ordinal. `flushes` has the flushes' keys with a comma behind each. When a row has
// enough of them they move to `history`, where `upto` is the last event that they tell of.
const sqlite = `
alter table job add column flushes text not null default '';
create table history (
  job_no integer not null, upto integer not null, flushes text not null, primary key (job_no, upto)
) strict, without rowid;
create table flush_before as select no, pos, at, entries from flush;
drop table flush;
create table flush (
  no integer primary key, pos integer, at integer not null, last integer not null, key integer not null,
  entries text not null
) strict;
insert into flush (no, pos, at, last, key, entries)
  select no, pos, at, coalesce((select max(entry.value ->> 0) from json_each(entries) as entry), 0), no, (
    select json_group_array(json_array(ordinal, at, kind, actor, json(facts), json_array(job_no), json_array(seq))) from (
      select entry.value ->> 0 as ordinal, event.job_no, event.seq, event.at, event.kind, event.actor, event.facts
      from json_each(flush_before.entries) as entry cross join event
      where event.job_no = entry.value ->> 1 and event.seq = entry.value ->> 2 order by ordinal
    )
  ) from flush_before;
drop table flush_before;
create index flush_by_pos on flush (pos);
create index flush_unnumbered on flush (no) where pos is null;
create index flush_by_key on flush (key);
drop view runs;
${runsView('sqlite', SQLITE_STARTED_AT)}
${withoutStatistics}`;

// Entries are stored as they come: to compress them would cost more than to write them. A flush's number is drawn after
// the last row lock, when rows have long been written: the key by which these name it is that of the transaction.
const postgres = `
alter table job add column flushes text not null default '';
create table history (job_no bigint not null, upto bigint not null, flushes text not null, primary key (job_no, upto));
alter table flush add column last bigint not null default 0;
alter table flush add column key bigint not null default 0;
alter table flush alter column entries set storage external;
update flush set
  last = coalesce((select max((entry.value ->> 0)::bigint) from json_array_elements(entries::json) as entry (value)), 0),
  entries = coalesce((
    select json_agg(json_build_array(
      (entry.value ->> 0)::bigint, event.at, event.kind, event.actor, event.facts::json,
      json_build_array(event.job_no), json_build_array(event.seq)
    ) order by (entry.value ->> 0)::bigint)::text
    from json_array_elements(entries::json) as entry (value)
    join event on event.job_no = (entry.value ->> 1)::bigint and event.seq = (entry.value ->> 2)::bigint
  ), '[]');
create index flush_by_key on flush (key);
drop view runs;
${runsView('postgres', POSTGRES_STARTED_AT)}`;

export const eventsInFlush: Migration = {
  version: 6,
  name: 'events in flush',
  breaking: true,
  sqlite,
  postgres,
};
