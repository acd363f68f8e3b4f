/** Whether any schedule has changed is asked every few seconds. */

import type { Migration } from './migration.ts';

const both = `
create index schedule_by_change on schedule (updated_at);
`;

export const scheduleChanges: Migration = {
  version: 10,
  name: 'schedule changes',
  breaking: false,
  sqlite: both,
  postgres: both,
};
