/** `spine token renew`: whoever has the database can always let themselves in, and lock out whoever had the old tokens. */

import { randomBytes } from 'node:crypto';
import type { Config } from '../config.ts';
import type { Clock, Ids } from '../domain/ports.ts';
import { renewFirstTokens } from '../engine/first-tokens.ts';
import { openEngine } from '../engine/open-engine.ts';
import { newTokens, tokensFile } from '../tokens.ts';
import { oneOfEach, placeOf } from './server-tokens.ts';
import { explained } from './start-error.ts';
import { openStorage } from './storage.ts';

class NotShared extends Error {
  readonly exitCode = 1;
}

/** Answers the file that they are in. */
export async function renewTokens(config: Config, clock: Clock, ids: Ids): Promise<string> {
  const file = tokensFile(config.dataDir);
  if (config.databaseUrl === null)
    throw new NotShared(
      `This installation is on SQLite: remove ${file} and start the server again, and it makes new tokens. On PostgreSQL, set DATABASE_URL.`,
    );
  const storage = await openStorage(config, clock, ids, () => undefined).catch((error: unknown) => {
    throw explained(error, config);
  });
  try {
    const { leaseMs, defaultMaxAttempts: maxAttempts, maxUnfinishedJobs } = config;
    const settings = { leaseMs, maxAttempts, maxUnfinishedJobs };
    const { core } = openEngine({ store: storage.store, clock, ids, settings });
    // Written first: what the database knows must not be lost by us.
    const fresh = newTokens(config.dataDir, randomBytes);
    try {
      await renewFirstTokens(core, placeOf(config), oneOfEach(fresh.tokens));
    } catch (error) {
      fresh.discard();
      throw error;
    }
    fresh.put();
    await core.flusher.stop();
    return file;
  } finally {
    await storage.close();
  }
}
