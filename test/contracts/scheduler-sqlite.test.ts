import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { startServer } from '../support/server.ts';
import { schedulerContract, WHOLE } from './scheduler.ts';
import type { SchedulerServer } from './scheduler-cases.ts';

schedulerContract({
  name: 'SQLite',
  cases: WHOLE,
  start: async (options) => {
    const server = await startServer(options);
    const query: SchedulerServer['query'] = async (sql) => {
      const database = new DatabaseSync(join(server.dataDir, 'spine.db'), { readOnly: true });
      try {
        return database.prepare(sql).all();
      } finally {
        database.close();
      }
    };
    // A copy would read the changing properties (pid, running) only once.
    return Object.create(server, { query: { value: query } }) as SchedulerServer;
  },
});
