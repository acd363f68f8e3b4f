/** SQLite ends every entry of an index with the row's number: where an index named it too, each entry had it twice. */

import type { Migration } from './migration.ts';

// A job that ends or is claimed changes its state: an index that asks for the state is looked at then, although most
// jobs have no time limit.
const timeLimits = `
drop index job_timeout;
create index job_timeout on job (timeout_at) where timeout_at is not null;
`;

const sqlite = `
drop index job_by_state;
create index job_by_state on job (state) where state <> 'running';
drop index job_ready;
create index job_ready on job (target, priority desc) where state = 'queued';
drop index job_ready_by_type;
create index job_ready_by_type on job (target, type_no, priority desc) where state = 'queued';
${timeLimits}`;

export const leanIndexes: Migration = {
  version: 7,
  name: 'lean indexes',
  breaking: false,
  sqlite,
  postgres: timeLimits,
};
