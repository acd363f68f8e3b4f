/** Schedules, their runs, approvals, and messages between agents. */

import type { Dialect } from './dialect.ts';

export function scheduler(dialect: Dialect): string {
  const { int, flag, numbered, byNumber, byKey } = dialect;
  return `
-- What creates jobs: a cron expression, a parent's end, a hand.
create table schedule (
  no ${numbered},
  id text not null,
  name text not null,
  enabled ${flag} not null,
  parent_id text,              -- the schedule whose end starts it
  spec text not null,          -- JSON: when, what, by whom, delivered where
  next_run_at ${int},
  last_run_at ${int},
  last_status text,
  consecutive_errors ${int} not null,
  run_count ${int} not null,   -- those by the clock or after a parent
  managed_by text,             -- who keeps it: a set of files, or where it was imported from
  created_at ${int} not null,
  created_by text not null,
  updated_at ${int} not null,
  spawned_by text              -- the message that asked for it
)${byNumber};
create unique index schedule_by_id on schedule (id);
create index schedule_due on schedule (next_run_at) where enabled = 1 and next_run_at is not null;
create index schedule_by_name on schedule (name);
create index schedule_managed on schedule (managed_by) where managed_by is not null;
create index schedule_parent on schedule (parent_id) where parent_id is not null;
create unique index schedule_spawned_by on schedule (spawned_by) where spawned_by is not null;
-- Whether any has changed is asked every few seconds.
create index schedule_by_change on schedule (updated_at);

-- A moment at which a schedule was due: one that fired, or a row of them that were missed.
create table tick (
  schedule_id text not null,
  at ${int} not null,
  fate text not null,          -- fired, missed, probing, or skipped by its probe
  job_no ${int},
  until_at ${int} not null,    -- the last moment of the row
  n ${int} not null,           -- how many
  reason text,
  recorded_at ${int} not null,
  kind text,                   -- from here on, while it is probed: of the run that it makes
  probe_until ${int},          -- until when a server asks
  primary key (schedule_id, at)
)${byKey};
create index tick_probing on tick (probe_until) where fate = 'probing';
create index tick_by_age on tick (recorded_at);

-- What a job has beside its row when a schedule made it. Whether it is under way stands here and in no index over job,
-- so that a job's updates stay cheap.
create table run (
  job_no ${int} primary key,
  schedule_id text not null,
  kind text not null,          -- what started it
  due_at ${int},
  triggered_by ${int},         -- the job of the parent's run whose end started it
  active ${flag} not null,     -- 0 ended, 1 under way (a retry to come included), 2 waiting in line
  session_key text,            -- from here on: what its worker wrote down, so that another finds the work after a crash
  transport text,
  dispatched_at ${int},
  last_heartbeat ${int},
  context_summary text,
  prompt_hash text             -- SHA-256 of what its agent was sent
)${byNumber};
create index run_by_schedule on run (schedule_id, job_no);
create index run_active on run (schedule_id, job_no) where active > 0;
create unique index run_triggered_once on run (triggered_by, schedule_id) where kind = 'chain';

-- What the agent of a run was sent, without the token in it. Apart from the run, whose lists do not show it.
create table run_prompt (
  job_no ${int} primary key,
  prompt text not null
)${byNumber};

-- What an agent's run said, in one line, for the runs of its schedule that come after it. Made when one of them asks.
create table run_summary (
  job_no ${int} primary key,
  schedule_id text not null,
  finished_at ${int} not null, -- of the end that it tells of: a run that was opened again has another
  summary text not null        -- empty: it had nothing to tell
)${byNumber};
create index run_summary_by_schedule on run_summary (schedule_id, finished_at, job_no);

${words(dialect)}

-- Whether somebody agrees that a job runs.
create table approval (
  job_no ${int} primary key,
  schedule_id text,
  status text not null,        -- pending, approved, rejected or timed_out
  timeout_ms ${int} not null,
  auto text not null,          -- what the end of that time means
  hash text not null,          -- SHA-256 of what is to be approved
  requested_at ${int},         -- null: the job has not come so far
  expires_at ${int},
  resolved_at ${int},
  resolved_by text,
  notes text
)${byNumber};
create index approval_by_schedule on approval (schedule_id) where status = 'pending';
create index approval_due on approval (expires_at) where status = 'pending';

-- What one agent says to another; a message of kind spawn asks for a schedule.
create table message (
  no ${numbered},
  id text not null,
  sender text not null,
  recipient text not null,
  kind text not null,
  subject text,
  body text not null,
  priority ${int} not null,
  rank ${int} not null,        -- the lower is read first, by kind and priority
  owner text,
  reply_to text,
  thread_no ${int},            -- the first message of the thread, if that is another
  schedule_id text,
  job_no ${int},               -- the run in whose name it was sent
  status text not null,        -- of kind spawn: pending, delivered or failed; of others the receipts tell
  error text,
  created_at ${int} not null,
  delivered_at ${int},
  expires_at ${int}
)${byNumber};
create unique index message_by_id on message (id);
create index message_spawn on message (no) where kind = 'spawn' and status = 'pending';
create index message_spawned on message (job_no) where kind = 'spawn';
create index message_by_sender on message (sender, no);
create index message_by_recipient on message (recipient, no);
create index message_thread on message (thread_no, no) where thread_no is not null;
create index message_by_age on message (created_at);

-- What became of a message for one of its recipients; a broadcast has many.
create table receipt (
  message_no ${int} not null,
  agent text not null,
  rank ${int} not null,        -- of the message, as is the next
  expires_at ${int},
  open ${flag} not null,       -- 1: it may be handed out
  job_no ${int},               -- the job with which it was handed out last
  fence ${int} not null,       -- of that lease; 0: in a prompt
  delivered_at ${int},
  read_at ${int},
  primary key (message_no, agent)
)${byKey};
create index receipt_open on receipt (agent, rank, message_no) where open = 1;
create index receipt_unread on receipt (agent, rank, message_no) where read_at is null;
create index receipt_by_agent on receipt (agent, message_no);
create index receipt_by_job on receipt (job_no) where open = 1 and job_no is not null;
create index receipt_due on receipt (expires_at) where open = 1 and expires_at is not null;

-- Somebody who sends and receives messages.
create table agent (
  id text primary key,         -- a worker's name, or the agent of a schedule
  name text,
  status text not null,        -- what it did when it was heard last: idle or busy
  last_seen_at ${int},
  capabilities text,           -- JSON
  registered ${flag} not null, -- 0: known because it was heard
  created_at ${int} not null
)${byKey};

-- A name for a place that results are delivered to.
create table alias (
  alias text primary key,
  channel text not null,
  target text not null,
  description text,
  created_at ${int} not null
)${byKey};
`;
}

/** Each database has an index of words of its own. On PostgreSQL a schedule's own summaries are few enough to go without. */
function words({ name }: Dialect): string {
  return name === 'sqlite'
    ? `-- The words of those summaries, to find them by.
create virtual table run_text using fts5 (schedule, summary, content = '', contentless_delete = 1);`
    : `-- The words of those summaries, to find them by.
create table run_text (job_no bigint primary key, words tsvector not null);`;
}
