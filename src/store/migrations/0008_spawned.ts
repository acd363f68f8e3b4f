/** How often a run has asked for another is looked up with each request. */

import type { Migration } from './migration.ts';

const both = `
create index message_spawned on message (job_no) where kind = 'spawn';
`;

export const spawned: Migration = {
  version: 8,
  name: 'spawned',
  breaking: false,
  sqlite: both,
  postgres: both,
};
