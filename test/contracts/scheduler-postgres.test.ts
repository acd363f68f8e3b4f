import { Client } from 'pg';
import { freshDatabase, skipWithoutPostgres } from '../support/postgres.ts';
import { startServer } from '../support/server.ts';
import { ON_EVERY_STORE, schedulerContract } from './scheduler.ts';
import type { SchedulerServer } from './scheduler-cases.ts';

schedulerContract({
  name: 'PostgreSQL',
  skip: skipWithoutPostgres,
  cases: ON_EVERY_STORE,
  start: async (options) => {
    const database = await freshDatabase(process.env['TEST_POSTGRES_URL'] ?? '');
    const server = await startServer({ ...options, databaseUrl: database.url });
    const query: SchedulerServer['query'] = async (sql) => {
      const client = new Client({ connectionString: database.url });
      await client.connect();
      try {
        return (await client.query<Record<string, unknown>>(sql)).rows;
      } finally {
        await client.end();
      }
    };
    const stop = async (): Promise<void> => {
      await server.stop();
      await database.drop();
    };
    // A copy would read the changing properties (pid, running) only once.
    return Object.create(server, {
      query: { value: query },
      stop: { value: stop },
      [Symbol.asyncDispose]: { value: stop },
    }) as SchedulerServer;
  },
});
