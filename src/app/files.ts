/** The files beside an embedded database: v0's are taken over once, then the journal and the readable files follow the events. */

import { join } from 'node:path';
import type { Config } from '../config.ts';
import type { Clock } from '../domain/ports.ts';
import { openJournal } from '../files/journal.ts';
import { openProjection } from '../files/projection.ts';
import { importSummary, importV0 } from '../import/v0.ts';
import type { Duty } from '../loops/loop.ts';
import type { Log } from './log.ts';
import type { Storage } from './storage.ts';

export interface Files {
  readonly duties: readonly Duty[];
  /** Lets go of jobs that were pruned. */
  forget(ids: readonly string[]): Promise<void>;
  /** How far the files are behind, for people to see. */
  status(): object;
  /** Writes what has been committed so far, and closes. */
  close(): Promise<void>;
}

const NONE: Files = {
  duties: [],
  forget: async () => undefined,
  status: () => ({ on: false }),
  close: async () => undefined,
};

/** Passes at the end: what is left after them follows at the next start. */
const CLOSING_PASSES = 20;

export async function openFiles(config: Config, storage: Storage, clock: Clock, log: Log): Promise<Files> {
  const { store, dataDir } = storage;
  if (dataDir !== null) {
    const defaults = { leaseMs: config.leaseMs, maxAttempts: config.defaultMaxAttempts };
    const report = await importV0({ dir: dataDir.dir, store, now: clock.now(), defaults });
    if (report !== null && report.jobs + report.unreadable.length > 0)
      log.info(`Spine v0: ${importSummary(report)}`);
  }
  if (!config.files) return NONE;
  const journal = await openJournal({ dir: join(config.dataDir, 'journal'), store, clock });
  if (journal.setAside !== null)
    log.warn('The journal belonged to another database and was put aside', { folder: journal.setAside });
  const projection = await openProjection({ dir: config.dataDir, store, clock });
  return {
    duties: [journal, projection],
    forget: async (ids) => {
      journal.prune(ids);
      await projection.removeFiles(ids);
    },
    status: () => ({
      on: true,
      journal: { ...journal.watermark(), lagMs: journal.lagMs() },
      files: { ...projection.watermark(), lagMs: projection.lagMs() },
    }),
    close: async () => {
      await catchUp(journal);
      // What settled with the last events gets its line after theirs.
      journal.hurry();
      await catchUp(journal);
      projection.hurry();
      await catchUp(projection);
      await journal.close();
    },
  };
}

async function catchUp(duty: Duty): Promise<void> {
  for (let pass = 0; pass < CLOSING_PASSES; pass++) {
    const { more, nextInMs } = await duty.runOnce();
    if (!more && (nextInMs ?? null) === null) return;
  }
}
