/** Jobs: what was asked for, who works on it, and what came of it. */

import type { Dialect } from './dialect.ts';

/** Jobs change often: there is room beside each row for its next version, and the dead ones are cleared early. */
const POSTGRES_JOB =
  ' with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_limit = 2000)';

export function jobs(dialect: Dialect): string {
  const { int, flag, bytes, numbered, numberedOnce, job, byNumber, byKey } = dialect;
  return `
-- A kind of work: what every job of it has in common.
create table job_type (
  no ${numbered},
  name text not null unique,
  label text not null,
  sop text,                    -- how the work is done, for whoever does it
  params_schema text,          -- JSON Schema of params
  max_retries ${int},          -- how often its jobs are tried again, unless they say so themselves; null: nobody has said
  backoff_ms ${int},           -- how long its jobs wait after their first failure, unless they say so themselves
  scoring text,                -- JSON: how its jobs stand among those of the same priority
  provider text,               -- whose limits its jobs run into
  declared ${flag} not null,   -- 1: somebody has said what it is; 0: a job was the first to name it
  active ${flag} not null,
  created_at ${int} not null,
  updated_at ${int} not null
)${byNumber};

-- One unit of work, and the lease of whoever works on it. The row is narrow because every claim, heartbeat and end
-- writes it anew. PostgreSQL finds a column by walking over those before it: what is always there, of fixed width and in
-- an index stands first.
create table job (
  no ${numberedOnce},  -- the order of creation, and the short id that people type
  type_no ${int} not null,          -- 0: no type
  created_at ${int} not null,
  lease_ms ${int} not null,         -- how long a claim or a heartbeat holds the job
  retry_max ${int} not null,        -- how many jobs may follow a failed one, where each retry is a job of its own
  retry_count ${int} not null,      -- how many jobs of its lineage came before it
  updated_at ${int} not null,
  attempts ${int} not null,
  fence ${int} not null,            -- rises with every claim
  seq ${int} not null,              -- the number of its last event
  priority ${int} not null,         -- the higher goes first
  run_at ${int} not null,           -- not before
  max_attempts ${int} not null,
  waiting_for ${int} not null,      -- how many dependencies have not settled
  dependencies ${int} not null,     -- how many it was made to wait for, or the first of its lineage was
  comments ${int} not null,         -- how many there are
  questions ${int} not null,        -- how many it has asked, those of its lineage before it included
  token_used ${flag} not null,      -- 1: the lease was used with its token, writes without one are refused
  plain ${flag} not null,           -- 1: it is as most jobs are made, and nothing has changed it yet
  settled ${flag} not null,         -- 0 open, 1 finished, 2 finished and everything has reacted to it,
                                    -- 3 finished, and a model is asked before anything reacts
  cancel_requested ${flag} not null,
  watched ${flag} not null,         -- 1: something reacts to its end
  mailed ${flag} not null,          -- 1: messages were handed out under its lease and may not have arrived
  announce ${flag} not null,        -- 1: the operator's chat is told of its ends
  lease_until ${int},
  timeout_at ${int},                -- when its running attempt ends in any case
  finished_at ${int},
  started_at ${int},                -- when the attempt began that runs now, or ran to the end
  queued_at ${int},                 -- when it became ready; null: when it was made
  retry_of ${int},                  -- the failed or replayed job that it does again
  root_no ${int},                   -- the first job of its lineage, if that is another
  parent_no ${int},                 -- the job that created it
  state text not null,
  target text not null,             -- who may do it: a worker, a queue, a gateway, or any
  blocked_on text,                  -- the pool or the line it waits for
  claim_id text,                    -- what the claimer called its claim, so that it can be repeated
  schedule_id text,                 -- the schedule that made it
  unique_key text,                  -- no two unfinished jobs of a type have the same
  id text not null,                 -- the public id
  created_by text not null,
  retry_mode text not null,         -- requeue: the same job again; lineage: a new one follows it
  lease_policy text not null,       -- what the end of the lease means
  approval text not null,           -- none, needed or given
  review text not null,             -- pending: it is done, and somebody still has to look at it
  timeout_ms ${int},                -- how long one attempt may run
  retry_at ${int},                  -- when the next of its lineage is due
  lease_span_ms ${int},             -- what its claim asked for instead of lease_ms
  backoff_ms ${int},                -- how long it waits after its first failure, if it says so itself
  checkpoint_at ${int},             -- when its holder last said how far it is
  pool text,
  concurrency_key text,
  lease_token text,
  claimed_by text,
  ended_token text,                 -- the last lease that ended, by which call, and where that left the job
  ended_verb text,
  ended_state text,
  reason text,                      -- why it is where it is, in words
  progress text,                    -- what the last heartbeat said
  cause text,                       -- why its last attempt went wrong, where that was not the work itself
  requires text${dialect.name === 'postgres' ? ' collate "C"' : ''}, -- a JSON list in order: its worker must have all of these capabilities
  question text,                    -- the open one whose answer it waits for
  score ${int} not null,            -- how much of the priority its type's scoring has given it
  score_at ${int},                  -- when it has earned one point more
  traceparent text,                 -- the trace that it belongs to
  start_before ${int},              -- it ends when nobody has taken it by then
  commits text not null             -- keys of the commits that tell its events, with a comma behind each
)${dialect.name === 'postgres' ? POSTGRES_JOB : byNumber};

-- The best ready job of a target, of all types or of one. Jobs that require something stand apart, so that nobody who cannot
-- do them has to pass them; those that require the same stand together.
create index job_ready on job (target, priority desc${tail(dialect)}) where state = 'queued' and requires is null;
create index job_ready_by_type on job (target, type_no, priority desc${tail(dialect)})
  where state = 'queued' and requires is null;
create index job_ready_by_requires on job (target, requires, priority desc${tail(dialect)})
  where state = 'queued' and requires is not null;
-- Lists and pruning. Running jobs are few and found by their lease, so that a claim and an end make one entry, not two.
create index job_by_state on job (state${tail(dialect)}) where state <> 'running';
-- Leases that have ended, attempts that ran too long, jobs whose time has come, jobs that wait for a pool, ends that
-- nothing has reacted to yet. Most jobs have no time limit, and those are not looked at when their state changes.
create index job_lease on job (lease_until) where state = 'running' and lease_policy <> 'presence';
create index job_presence on job (lease_until) where state = 'running' and lease_policy = 'presence';
create index job_timeout on job (timeout_at) where timeout_at is not null;
create index job_start_before on job (start_before) where start_before is not null and fence = 0 and finished_at is null;
create index job_due on job (run_at) where state = 'scheduled';
create index job_score on job (score_at) where score_at is not null and state = 'queued';
create index job_waiting on job (blocked_on, target, priority desc, no) where blocked_on is not null;
create index job_unsettled on job (no) where settled = 1;
create index job_consulting on job (no) where settled = 3;
-- Each of these happens once, whatever goes wrong.
create unique index job_unique_key on job (type_no, unique_key) where unique_key is not null and finished_at is null;
create unique index job_retry_of on job (retry_of) where retry_of is not null;
create index job_root on job (root_no) where root_no is not null;
create index job_parent on job (parent_no) where parent_no is not null;
create index job_schedule on job (schedule_id, no) where schedule_id is not null;
-- What each bot took. Nobody else's jobs have an entry here.
create index job_by_bot on job (claimed_by, finished_at) where lease_policy = 'presence';
create index job_claim_id on job (claim_id) where claim_id is not null;

-- What was asked for, written once. No foreign key here and on job_result: it would cost every update of a job. The
-- pruner removes a job with all its rows in one transaction.
create table job_input (
  job_no ${int} primary key,
  id text not null,
  title text,
  description text,
  spec text,                   -- JSON, as are the four below
  meta text,
  params text,
  tags text,
  budget text
)${byNumber};
-- The public id is looked up here, where rows never change: on job every update would write it into the index again.
create unique index job_input_id on job_input (id);

-- The tags of a job, one by one, to find jobs by.
create table job_tag (
  tag text not null,
  job_no ${job},
  primary key (tag, job_no)
)${byKey};
create index job_tag_by_job on job_tag (job_no);

${words(dialect)}

-- What came of a job's last end.
create table job_result (
  job_no ${int} primary key,
  result text,                 -- JSON
  error text
)${byNumber};

-- What a claim of a job took in tokens and money, as far as its holder said so.
create table job_usage (
  job_no ${int} not null,
  fence ${int} not null,
  type_no ${int} not null,
  at ${int} not null,
  input_tokens ${int} not null,
  output_tokens ${int} not null,
  total_tokens ${int} not null,
  cost_micros ${int} not null, -- millionths of a dollar
  primary key (job_no, fence)
)${byKey};

-- The same, summed. Writers of different lanes add to rows of their own.
create table spending (
  at ${int} not null,          -- the beginning of a quarter of an hour
  type_no ${int} not null,
  lane text not null,
  reports ${int} not null,     -- how many claims were told of
  input_tokens ${int} not null,
  output_tokens ${int} not null,
  total_tokens ${int} not null,
  cost_micros ${int} not null,
  primary key (at, type_no, lane)
)${byKey};

-- What the jobs of a type may take in a day. When it is used up the type is paused, and somebody is asked.
create table budget (
  type_no ${int} primary key,
  tokens ${int},               -- null: not bounded
  cost_micros ${int},
  used_up_on ${int},           -- the beginning of the day on which it was
  raised ${int} not null,      -- how often by itself
  raised_on ${int},            -- on which day
  held ${flag} not null        -- 1: the next day does not end the pause
)${byKey};

-- What people and workers say about a job.
create table comment (
  job_no ${job},
  seq ${int} not null,         -- counts the job's comments from 1
  at ${int} not null,
  author text not null,
  body text not null,
  primary key (job_no, seq)
)${byKey};

-- What a worker printed.
create table job_log (
  no ${numbered},
  job_no ${job},
  attempt ${int} not null,
  at ${int} not null,
  level text not null,
  body text not null
)${byNumber};
create index job_log_by_job on job_log (job_no, no);

-- A job that waits for another one's end.
create table dependency (
  job_no ${job},               -- who waits
  parent_no ${int} not null,   -- for whom
  wanted text not null,        -- for which end
  met ${flag} not null,
  primary key (job_no, parent_no)
)${byKey};
create index dependency_by_parent on dependency (parent_no);

-- An artifact. Its bytes lie in a folder, or in pieces below.
create table blob (
  id text primary key,
  filename text not null,
  size ${int} not null,
  sha256 text not null,
  content_type text not null,
  job_no ${int},
  created_at ${int} not null,
  created_by text not null
)${byKey};
create index blob_by_job on blob (job_no) where job_no is not null;

-- The bytes of artifacts and of what bots collect, in pieces of a bounded size, where servers share a PostgreSQL: each serves what any of them took.
create table piece (
  name text${dialect.name === 'postgres' ? ' collate "C"' : ''} not null, -- \`blobs/<id>\` or \`objects/<key>\`
  no ${int} not null,          -- counts the pieces of one name from 0
  at ${int} not null,          -- when it was written
  bytes ${bytes} not null,
  primary key (name, no)
)${byKey};
${dialect.name === 'postgres' ? UNPACKED : ''}`;
}

/** Most artifacts do not get any smaller: no time is spent on trying. */
const UNPACKED = 'alter table piece alter column bytes set storage external;\n';

/** SQLite ends every entry of an index with the row's number by itself. */
function tail({ name }: Dialect): string {
  return name === 'sqlite' ? '' : ', no';
}

/** Each database has an index of words of its own. */
function words({ name }: Dialect): string {
  return name === 'sqlite'
    ? `-- The words of titles and descriptions, to find jobs by.
create virtual table job_text using fts5 (title, description, content = '', contentless_delete = 1);`
    : `-- The words of titles and descriptions, to find jobs by.
create table job_text (job_no bigint primary key, words tsvector not null);
create index job_text_words on job_text using gin (words);`;
}
