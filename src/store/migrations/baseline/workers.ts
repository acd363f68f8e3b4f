/** The workers that have a name of their own, and when they were last heard from. */

import type { Dialect } from './dialect.ts';

export function workers(dialect: Dialect): string {
  const { int, flag, byKey } = dialect;
  return `
-- A slot: the name under which one worker process at a time works. Heartbeats are rows, so that none is lost to another.
create table worker_slot (
  slot text primary key,
  status text not null,        -- idle, working or offline
  instance text not null,      -- the process that has it; nobody else's heartbeat counts
  taken_by text not null,      -- whose token it took the slot with
  job_id text,
  attempt ${int},              -- by which of the job's claims
  title text,
  session_id text,
  left_session text,           -- what its last process may have left running
  last_update ${int} not null,
  started_at ${int} not null,
  restart_count ${int} not null,
  draining ${flag} not null,   -- 1: it is to take nothing new
  metadata text not null       -- JSON
)${byKey};
`;
}
