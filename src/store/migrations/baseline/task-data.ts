/** What bots collect for their tasks: batches of data, and files that they put into the storage themselves. */

import type { Dialect } from './dialect.ts';

export function taskData({ int, byKey, job }: Dialect): string {
  return `
-- A batch of items that lies in the storage as one object. Without a job its object is to be removed, and the row with it.
create table task_batch (
  key text primary key,        -- the name of the object
  job_no ${int},               -- null: it is on its way, or its task is gone
  data_type text not null,
  items ${int} not null,       -- how many
  size ${int} not null,        -- bytes
  sha256 text not null,
  uploaded_at ${int} not null,
  uploaded_by text not null
)${byKey};
create index task_batch_by_job on task_batch (job_no, uploaded_at, size) where job_no is not null;
create index task_batch_forgotten on task_batch (uploaded_at, key) where job_no is null;

-- An item that has a name of its own has come for this task: it is kept once.
create table task_item (
  job_no ${job},
  data_type text not null,
  external_id text not null,
  primary key (job_no, data_type, external_id)
)${byKey};

-- What the items of a batch are about.
create table task_ticker (
  job_no ${job},
  ticker text not null,
  key text not null,
  primary key (job_no, ticker, key)
)${byKey};

-- A file that a bot has put into the storage by itself.
create table task_file (
  id text primary key,
  job_no ${job},
  filename text not null,
  s3_key text not null,
  content_type text not null,
  size_bytes ${int} not null,
  uploaded_by text not null,
  created_at ${int} not null
)${byKey};
create index task_file_by_job on task_file (job_no, created_at);
`;
}
