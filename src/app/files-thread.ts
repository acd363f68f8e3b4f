/** What runs in the thread that writes the journal and the readable files. It loads nothing that it does not need. */

import { flushCompileCache } from 'node:module';
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import type { FeedPlace } from '../domain/event.ts';
import { openJournal } from '../files/journal.ts';
import type { Pass } from '../files/feed-mark.ts';
import { openProjection } from '../files/projection.ts';
import { yieldToOthers } from '../runtime/background.ts';
import { systemClock } from '../runtime/clock.ts';
import { answer } from '../runtime/thread.ts';
import type { Reader } from '../store/store.ts';
import type { DatabaseLocation } from './storage.ts';

export interface FilesData {
  readonly dir: string;
  readonly identity: string;
  readonly database: DatabaseLocation;
}

export interface Progress {
  readonly pass: Pass;
  readonly place: FeedPlace;
  readonly lagMs: number;
}

export interface FilesMethods {
  /** One pass of the journal, which is to say that these jobs were deleted. */
  readonly journal: (pruned: readonly string[]) => Promise<Progress>;
  /** One pass of the readable files, which rest the longer the busier the server is. */
  readonly files: (busy: number) => Promise<Progress>;
  readonly removeFiles: (ids: readonly string[]) => Promise<void>;
  /** Writes what has been committed so far. Nothing may be called after it. */
  readonly close: (pruned: readonly string[]) => Promise<void>;
}

const READ_CONNECTIONS = 2;
/** Passes at the end: what is left after them follows at the next start. */
const CLOSING_PASSES = 60;

// The launcher loads this file outside of a thread, to have it compiled.
if (parentPort !== null) {
  yieldToOthers();
  answer(parentPort, await openMethods(workerData as FilesData));
  // A server that is killed would never write the cache of its compiled code.
  flushCompileCache();
}

async function openMethods({ dir, identity, database }: FilesData): Promise<FilesMethods> {
  const clock = systemClock();
  const reader = await openReader(database);
  // The server compared the files before it began; by now the database is ahead of them.
  const common = { store: { identity, read: reader.read }, clock, compared: true };
  const journal = await openJournal({ ...common, dir: join(dir, 'journal') });
  let busy = 1;
  const projection = await openProjection({ ...common, dir, busy: () => busy });
  return {
    journal: async (pruned) => {
      journal.prune(pruned);
      const pass = await journal.runOnce();
      return { pass, place: journal.watermark(), lagMs: journal.lagMs() };
    },
    files: async (busyNow) => {
      busy = busyNow;
      const pass = await projection.runOnce();
      return { pass, place: projection.watermark(), lagMs: projection.lagMs() };
    },
    removeFiles: (ids) => projection.removeFiles(ids),
    close: async (pruned) => {
      busy = 0;
      journal.prune(pruned);
      await catchUp(journal);
      // What settled with the last events gets its line after theirs.
      journal.hurry();
      await catchUp(journal);
      projection.hurry();
      await catchUp(projection);
      await journal.close();
      await reader.close();
    },
  };
}

/** The driver that is not needed would only take memory. */
async function openReader(database: DatabaseLocation): Promise<Reader> {
  if ('sqliteFile' in database)
    return (await import('../store/sqlite-reader.ts')).openSqliteReader(database.sqliteFile);
  const { openPostgresReader } = await import('../store/postgres-reader.ts');
  return openPostgresReader(database.postgresUrl, READ_CONNECTIONS);
}

async function catchUp(duty: { runOnce(): Promise<Pass> }): Promise<void> {
  for (let pass = 0; pass < CLOSING_PASSES; pass++) {
    const { more, nextInMs } = await duty.runOnce();
    if (!more && (nextInMs ?? null) === null) return;
  }
}
