/** Jobs, what belongs to them, and what the engine needs to run them. */

import type { Migration } from './migration.ts';

// No foreign keys on input, result and event, which are written with every job, and on PostgreSQL none at all: each
// of them costs every update of a job a trigger, about a twentieth of it. The pruner removes a job with all its rows
// in one transaction instead.

const indexes = `
-- The public id is looked up here, where rows never change: on job every update would write it into the index again.
create unique index job_input_id on job_input (id);
create index job_by_state on job (state, no);
create index job_ready on job (target, priority desc, no) where state = 'queued';
create index job_ready_by_type on job (target, type_no, priority desc, no) where state = 'queued';
create index job_lease on job (lease_until) where state = 'running';
create index job_timeout on job (timeout_at) where state = 'running' and timeout_at is not null;
create index job_due on job (run_at) where state = 'scheduled';
create index job_waiting on job (blocked_on, target, priority desc, no) where blocked_on is not null;
create index job_unsettled on job (no) where settled = 1;
create unique index job_unique_key on job (type_no, unique_key) where unique_key is not null and finished_at is null;
create unique index job_retry_of on job (retry_of) where retry_of is not null;
create index job_root on job (root_no) where root_no is not null;
create index job_parent on job (parent_no) where parent_no is not null;
create index job_schedule on job (schedule_id, no) where schedule_id is not null;
create index job_claim_id on job (claim_id) where claim_id is not null;
create index job_tag_by_job on job_tag (job_no);
create index job_log_by_job on job_log (job_no, no);
create unique index event_by_job on event (job_no, seq);
create index flush_by_pos on flush (pos);
create index flush_unnumbered on flush (no) where pos is null;
create index dependency_by_parent on dependency (parent_no);
create unique index slot_by_job on slot (job_no, pool) where job_no is not null;
create index slot_free on slot (pool, idx) where job_no is null;
create index outbox_due on outbox (run_at, no);
create index idempotency_by_age on idempotency (at);
create index blob_by_job on blob (job_no) where job_no is not null;
insert into revision (name, value) values ('routing', 1);
`;

const sqlite = `
create table meta (name text primary key, value text not null) without rowid;
create table alive (name text primary key, beat_at integer not null) without rowid;
create table revision (name text primary key, value integer not null) without rowid;
create table job_type (
  no integer primary key, name text not null unique, label text not null, sop text, params_schema text,
  active integer not null, created_at integer not null, updated_at integer not null
) strict;
create table job (
  no integer primary key, id text not null, type_no integer not null, target text not null,
  created_at integer not null, created_by text not null, lease_ms integer not null, timeout_ms integer,
  retry_mode text not null, retry_max integer not null, backoff_ms integer not null, retry_count integer not null,
  retry_of integer, root_no integer, parent_no integer, schedule_id text, unique_key text, pool text,
  concurrency_key text, state text not null, updated_at integer not null, attempts integer not null,
  fence integer not null, lease_token text, lease_until integer, lease_policy text not null, claimed_by text,
  claim_id text, token_used integer not null, timeout_at integer, ended_token text, ended_verb text,
  ended_state text, settled integer not null, finished_at integer, reason text, progress text,
  seq integer not null, priority integer not null, run_at integer not null, max_attempts integer not null,
  cancel_requested integer not null, blocked_on text, waiting_for integer not null, watched integer not null,
  retry_at integer, comments integer not null, lease_span_ms integer, approval text not null, cause text
) strict;
create table job_input (
  job_no integer primary key, id text not null, title text, description text, spec text, meta text, params text, tags text, budget text
) strict;
create table job_tag (tag text not null, job_no integer not null references job (no), primary key (tag, job_no)) without rowid;
create table job_result (job_no integer primary key, result text, error text) strict;
create table comment (
  job_no integer not null references job (no), seq integer not null, at integer not null, author text not null,
  body text not null, primary key (job_no, seq)
) without rowid;
create table job_log (
  no integer primary key, job_no integer not null references job (no), attempt integer not null,
  at integer not null, level text not null, body text not null
) strict;
create table flush (no integer primary key, pos integer, at integer not null) strict;
create table event (
  flush_no integer not null, ordinal integer not null, job_no integer not null, seq integer not null,
  at integer not null, kind text not null, actor text not null, facts text, primary key (flush_no, ordinal)
) strict, without rowid;
create table dependency (
  job_no integer not null references job (no), parent_no integer not null, wanted text not null,
  met integer not null, primary key (job_no, parent_no)
) without rowid;
create table pool (name text primary key, capacity integer not null, per_key integer not null, updated_at integer not null) without rowid;
create table slot (pool text not null, idx integer not null, job_no integer, primary key (pool, idx)) without rowid;
create table pause (kind text not null, name text not null, at integer not null, actor text not null, primary key (kind, name)) without rowid;
create table idempotency (
  principal text not null, key text not null, body_hash text not null, job_ids text not null, at integer not null,
  primary key (principal, key)
) without rowid;
create table outbox (
  no integer primary key, channel text not null, kind text not null, job_no integer, body text not null,
  run_at integer not null, attempts integer not null, error text, created_at integer not null
) strict;
create table counter (lane text not null, target text not null, state text not null, n integer not null, primary key (lane, target, state)) without rowid;
create table blob (
  id text primary key, filename text not null, size integer not null, sha256 text not null, content_type text not null,
  job_no integer, created_at integer not null, created_by text not null
) without rowid;
${indexes}`;

// PostgreSQL finds a column by walking over those before it: what is always there, of fixed width and in an index
// stands first.
const postgres = `
create table meta (name text primary key, value text not null);
create table alive (name text primary key, beat_at bigint not null);
create table revision (name text primary key, value bigint not null);
create table job_type (
  no bigint generated by default as identity primary key, name text not null unique, label text not null, sop text,
  params_schema text, active smallint not null, created_at bigint not null, updated_at bigint not null
);
create table job (
  no bigint generated by default as identity primary key, type_no bigint not null, created_at bigint not null,
  lease_ms bigint not null, retry_max bigint not null, backoff_ms bigint not null, retry_count bigint not null,
  updated_at bigint not null, attempts bigint not null, fence bigint not null, seq bigint not null,
  priority bigint not null, run_at bigint not null, max_attempts bigint not null, waiting_for bigint not null,
  comments bigint not null, token_used smallint not null, settled smallint not null,
  cancel_requested smallint not null, watched smallint not null, lease_until bigint, timeout_at bigint,
  finished_at bigint, retry_of bigint, root_no bigint, parent_no bigint, state text not null, target text not null,
  blocked_on text, claim_id text, schedule_id text, unique_key text, id text not null, created_by text not null,
  retry_mode text not null, lease_policy text not null, approval text not null, timeout_ms bigint, retry_at bigint,
  lease_span_ms bigint, pool text, concurrency_key text, lease_token text, claimed_by text, ended_token text,
  ended_verb text, ended_state text, reason text, progress text, cause text
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_limit = 2000);
create table job_input (
  job_no bigint primary key, id text not null, title text, description text, spec text, meta text, params text, tags text, budget text
);
create table job_tag (tag text not null, job_no bigint not null, primary key (tag, job_no));
create table job_result (job_no bigint primary key, result text, error text);
create table comment (
  job_no bigint not null, seq bigint not null, at bigint not null, author text not null,
  body text not null, primary key (job_no, seq)
);
create table job_log (
  no bigint generated by default as identity primary key, job_no bigint not null,
  attempt bigint not null, at bigint not null, level text not null, body text not null
);
create table flush (no bigint generated by default as identity primary key, pos bigint, at bigint not null);
create table event (
  flush_no bigint not null, ordinal bigint not null, job_no bigint not null, seq bigint not null,
  at bigint not null, kind text not null, actor text not null, facts text, primary key (flush_no, ordinal)
);
create table dependency (
  job_no bigint not null, parent_no bigint not null, wanted text not null,
  met smallint not null, primary key (job_no, parent_no)
);
create table pool (name text primary key, capacity bigint not null, per_key bigint not null, updated_at bigint not null);
create table slot (pool text not null, idx bigint not null, job_no bigint, primary key (pool, idx));
create table pause (kind text not null, name text not null, at bigint not null, actor text not null, primary key (kind, name));
create table idempotency (
  principal text not null, key text not null, body_hash text not null, job_ids text not null, at bigint not null,
  primary key (principal, key)
);
create table outbox (
  no bigint generated by default as identity primary key, channel text not null, kind text not null, job_no bigint,
  body text not null, run_at bigint not null, attempts bigint not null, error text, created_at bigint not null
);
create table counter (lane text not null, target text not null, state text not null, n bigint not null, primary key (lane, target, state)) with (fillfactor = 50);
create table blob (
  id text primary key, filename text not null, size bigint not null, sha256 text not null, content_type text not null,
  job_no bigint, created_at bigint not null, created_by text not null
);
create sequence feed_pos;
${indexes}`;

export const jobs: Migration = { version: 1, name: 'jobs', breaking: true, sqlite, postgres };
