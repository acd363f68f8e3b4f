import { freshDatabase, skipWithoutPostgres } from '../support/postgres.ts';
import { startServer } from '../support/server.ts';
import { peopled } from './bot-cases.ts';
import { botContract, ON_EVERY_STORE } from './bots.ts';

botContract({
  name: 'PostgreSQL',
  skip: skipWithoutPostgres,
  cases: ON_EVERY_STORE,
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
