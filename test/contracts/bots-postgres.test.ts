import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freshDatabase, skipWithoutPostgres } from '../support/postgres.ts';
import { startServer } from '../support/server.ts';
import { peopled } from './bot-cases.ts';
import { botContract } from './bots.ts';

botContract({
  name: 'PostgreSQL',
  skip: skipWithoutPostgres,
  start: async (options, bots) => {
    const database = await freshDatabase(process.env['TEST_POSTGRES_URL'] ?? '');
    // A shared folder, as the data dir is to a server alone: where the database keeps them is held by bots-servers.test.ts.
    const dataDir = options?.dataDir ?? mkdtempSync(join(tmpdir(), 'spine-bots-'));
    const env = { ...options?.env, SPINE_BLOB_DIR: dataDir };
    const server = await startServer({ ...options, dataDir, databaseUrl: database.url, env });
    const spine = await peopled(server, bots);
    return {
      ...spine,
      stop: async () => {
        await spine.stop();
        await database.drop();
        rmSync(dataDir, { recursive: true, force: true });
      },
    };
  },
});
