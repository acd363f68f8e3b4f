/** What a job leaves for whoever holds it next: its questions with their answers, and its last checkpoint. */

import type { Dialect } from './dialect.ts';

export function questions(dialect: Dialect): string {
  const { int, numbered, job, byNumber } = dialect;
  return `
-- A question that the holder of a job asked, and what came of it. The job waits while it is open.
create table question (
  no ${numbered},
  id text not null,
  job_no ${job},
  root_no ${int} not null,     -- the lineage: answers are for whoever goes on with the work
  body text not null,
  recipient text not null,     -- @alias, or the name of an agent or a person
  choices text,                -- JSON: the only answers there are
  schema text,                 -- JSON Schema of the answer
  fallback text,               -- JSON: the answer when nobody gives one in time
  asked_by text not null,
  asked_at ${int} not null,
  expires_at ${int} not null,
  lease_token text,            -- the lease that ended with it
  status text not null,        -- open, answered, timed_out or closed
  answer text,                 -- JSON
  answered_by text,
  answered_at ${int}
)${byNumber};
create unique index question_by_id on question (id);
create index question_by_job on question (job_no, no);
create index question_by_root on question (root_no, no) where status = 'answered';
create index question_open on question (no) where status = 'open';
create index question_due on question (expires_at) where status = 'open';
create index question_by_asker on question (asked_by) where status = 'open';
create index question_by_recipient on question (recipient, no);

-- How far the work on a job is, in its holder's own words. The last one counts.
create table checkpoint (
  job_no ${int} primary key,
  body text not null           -- JSON
)${byNumber};
`;
}
