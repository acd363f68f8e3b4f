import { freshDatabase, skipWithoutPostgres } from '../support/postgres.ts';
import { holdsTools } from './tools.ts';

let database: Awaited<ReturnType<typeof freshDatabase>> | undefined;

holdsTools({
  name: 'PostgreSQL',
  skip: skipWithoutPostgres,
  databaseUrl: async () => {
    database = await freshDatabase(process.env['TEST_POSTGRES_URL'] ?? '');
    return database.url;
  },
  drop: async () => database?.drop(),
});
