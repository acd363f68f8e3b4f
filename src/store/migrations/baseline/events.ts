/** Events: what happened to jobs, in the order of the commits. */

import { unpackedEvents } from '../../sql/packed-events.ts';
import type { Dialect } from './dialect.ts';

export function events(dialect: Dialect): string {
  const { int, numbered, byNumber, byKey } = dialect;
  return `
-- A commit that changed jobs, with all events of it in one text. Each of these jobs names it in job.commits. To give
-- every event a row would cost a quarter of a claim on PostgreSQL. Read the views event and events instead.
create table feed_commit (
  no ${numbered},
  pos ${int},                  -- its place in the feed; on PostgreSQL given after the commit
  at ${int} not null,
  last ${int} not null,        -- the highest ordinal in it
  key ${int} not null,         -- how jobs name it; on PostgreSQL the transaction's number, which is known before its own
  entries text not null        -- its events, packed: the view event unpacks them
)${byNumber};
create index feed_commit_by_pos on feed_commit (pos);
create index feed_commit_unnumbered on feed_commit (no) where pos is null;
create index feed_commit_by_key on feed_commit (key);
${dialect.name === 'postgres' ? POSTGRES_FEED : ''}
-- Keys of commits that have moved out of a job's row, where a long life would have made it wide.
create table history (
  job_no ${int} not null,
  upto ${int} not null,        -- the number of the last event that they tell
  commits text not null,
  primary key (job_no, upto)
)${byKey};

-- The events of jobs, each as a row of its own.
create view event as
${unpackedEvents({ dialect: dialect.name })};

-- The same for people who ask with SQL. Ask for a job: its events are found at once.
create view events as
select job_input.id as job_id, event.seq, ${timeOf(dialect)} as time, event.kind, event.actor as by, event.facts
from job_input cross join event
where event.job_no = job_input.job_no;
`;
}

/** With milliseconds: events follow each other closely. */
function timeOf({ name }: Dialect): string {
  return name === 'sqlite'
    ? "strftime('%Y-%m-%d %H:%M:%f', event.at / 1000.0, 'unixepoch')"
    : 'to_timestamp(event.at / 1000.0)';
}

const POSTGRES_FEED = `
-- Places in the feed. Entries are stored as they come: to compress them would cost more than to write them.
create sequence feed_pos;
alter table feed_commit alter column entries set storage external;
`;
