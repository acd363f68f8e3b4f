/** A job that runs is not in the index of states: two of the four entries that each job made there were for that. */

import type { Migration } from './migration.ts';

// Nobody holds so many jobs that listing the running ones needs an order of its own: job_lease finds them.
const change = `
drop index job_by_state;
create index job_by_state on job (state, no) where state <> 'running';
`;

export const leanStates: Migration = {
  version: 4,
  name: 'lean states',
  breaking: false,
  sqlite: change,
  postgres: change,
};
