/**
 * The newest events of a job lie in its own row, and the feed has them in the row of their flush: both are written
 * anyhow. Before, every event had a row to itself, a quarter of the work of a claim or an end on PostgreSQL.
 */

import { runsView } from './0003_views.ts';
import type { Migration } from './migration.ts';

/** When a job was first claimed, as its row and the rows of its older events tell. */
function startedAt(history: string, at: string, kind: string): string {
  return `(select min(at) from (
    select at from event where event.job_no = job.no and event.kind = 'job.claimed'
    union all select ${at} from ${history} where ${kind} = 'job.claimed'
  ) as claim)`;
}

// `entries` is a JSON array of [ordinal, at, kind, actor, facts, [job_no, …], [seq, …]], one for events that differ in
// nothing else; `last` is the highest ordinal. `history` has [seq, at, kind, actor, facts] with a comma behind each.
const sqlite = `
alter table job add column history text not null default '';
create table flush_before as select no, pos, at, entries from flush;
drop table flush;
create table flush (
  no integer primary key, pos integer, at integer not null, last integer not null, entries text not null
) strict;
insert into flush (no, pos, at, last, entries)
  select no, pos, at, coalesce((select max(entry.value ->> 0) from json_each(entries) as entry), 0), (
    select json_group_array(json_array(ordinal, at, kind, actor, json(facts), json_array(job_no), json_array(seq))) from (
      select entry.value ->> 0 as ordinal, event.job_no, event.seq, event.at, event.kind, event.actor, event.facts
      from json_each(flush_before.entries) as entry cross join event
      where event.job_no = entry.value ->> 1 and event.seq = entry.value ->> 2 order by ordinal
    )
  ) from flush_before;
drop table flush_before;
create index flush_by_pos on flush (pos);
create index flush_unnumbered on flush (no) where pos is null;
drop view runs;
${runsView('sqlite', startedAt("json_each('[' || rtrim(job.history, ',') || ']') as item", '(item.value ->> 1)', '(item.value ->> 2)'))}`;

// Entries are stored as they come: to compress them would cost more than to write them.
const postgres = `
alter table job add column history text not null default '';
alter table flush add column last bigint not null default 0;
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
drop view runs;
${runsView('postgres', startedAt("json_array_elements(('[' || rtrim(job.history, ',') || ']')::json) as item (value)", '(item.value ->> 1)::bigint', '(item.value ->> 2)'))}`;

export const historyInRow: Migration = {
  version: 6,
  name: 'history in row',
  breaking: true,
  sqlite,
  postgres,
};
