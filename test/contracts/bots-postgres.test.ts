import { freshDatabase, skipWithoutPostgres } from '../support/postgres.ts';
import { startServer } from '../support/server.ts';
import { peopled } from './bot-cases.ts';
import { botContract } from './bots.ts';

botContract({
  name: 'PostgreSQL',
  skip: skipWithoutPostgres,
  start: async (options, bots) => {
    const database = await freshDatabase(process.env['TEST_POSTGRES_URL'] ?? '');
    const spine = await peopled(await startServer({ ...options, databaseUrl: database.url }), bots);
    return {
      ...spine,
      stop: async () => {
        await spine.stop();
        await database.drop();
      },
    };
  },
});
