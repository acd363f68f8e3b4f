import { freshDatabase, skipWithoutPostgres } from '../support/postgres.ts';
import { startServer } from '../support/server.ts';
import { spineContract } from './spine.ts';

spineContract({
  name: 'PostgreSQL',
  skip: skipWithoutPostgres,
  start: async (options) => {
    const database = await freshDatabase(process.env['TEST_POSTGRES_URL'] ?? '');
    const server = await startServer({ ...options, databaseUrl: database.url });
    const stop = async (): Promise<void> => {
      await server.stop();
      await database.drop();
    };
    // A copy would read the changing properties (pid, running) only once.
    return Object.create(server, {
      stop: { value: stop },
      [Symbol.asyncDispose]: { value: stop },
    }) as typeof server;
  },
});
