/** What decides who may run, and what a commit leaves for others: pools, pauses, keys, notices, counts. */

import type { Dialect } from './dialect.ts';

export function queue(dialect: Dialect): string {
  const { int, numbered, byNumber, byKey } = dialect;
  return `
-- How many jobs may run at the same time, in all and of each concurrency key.
create table pool (
  name text primary key,
  capacity ${int} not null,
  per_key ${int} not null,
  updated_at ${int} not null
)${byKey};

-- The right to run one job of a pool, of a key (pool/key) or in a lane of a target. Whoever runs holds the row.
create table slot (
  pool text not null,
  idx ${int} not null,
  job_no ${int},               -- null: free
  primary key (pool, idx)
)${byKey};
create unique index slot_by_job on slot (job_no, pool) where job_no is not null;
create index slot_free on slot (pool, idx) where job_no is null;

-- A target, a type or a provider whose jobs nobody may claim for now, or a door at which nobody may.
create table pause (
  kind text not null,          -- target, type, provider or door
  name text not null,
  at ${int} not null,
  actor text not null,
  until_at ${int},             -- when it ends by itself
  primary key (kind, name)
)${byKey};

-- An Idempotency-Key and what its first use created.
create table idempotency (
  principal text not null,
  key text not null,
  body_hash text not null,     -- the same key with another body is refused
  job_ids text not null,       -- JSON
  at ${int} not null,
  primary key (principal, key)
)${byKey};
create index idempotency_by_age on idempotency (at);

-- Something that is done to all jobs that fit a filter, a few at a time, and how far that is.
create table bulk (
  no ${numbered},
  id text not null unique,
  action text not null,        -- retry, cancel, redrive or delete
  filter text not null,        -- JSON
  state text not null,         -- running, done or cancelled
  created_by text not null,
  role text not null,
  created_at ${int} not null,
  stepped_at ${int} not null,
  ended_at ${int},
  jobs ${int} not null,        -- how many fitted at the beginning
  last_no ${int} not null,     -- jobs with a higher number came later
  done_no ${int} not null,     -- the last one that was looked at
  changed ${int} not null,
  refused ${int} not null
)${byNumber};
create index bulk_running on bulk (stepped_at, no) where state = 'running';

-- A notice that leaves the house after the commit, until it was taken.
create table outbox (
  no ${numbered},
  channel text not null,
  kind text not null,
  job_no ${int},
  body text not null,          -- JSON
  run_at ${int} not null,      -- when to try next; whoever sends it puts this ahead first
  attempts ${int} not null,
  error text,
  created_at ${int} not null
)${byNumber};
create index outbox_due on outbox (run_at, no);

-- How many jobs ended how, counted where an operator's chat is told of such things. Lanes have rows of their own.
create table tally (
  at ${int} not null,          -- the beginning of a quarter of an hour
  kind text not null,          -- done, failed, dead or retried
  lane text not null,
  n ${int} not null,
  primary key (at, kind, lane)
)${byKey};

-- How many jobs there are. Writers of different lanes add to rows of their own; the sum counts.
create table counter (
  lane text not null,
  target text not null,
  state text not null,
  n ${int} not null,
  primary key (lane, target, state)
)${dialect.name === 'postgres' ? ' with (fillfactor = 50)' : byKey};
`;
}
