/** The files beside a database: v0's are taken over once, then a thread has the journal and the readable files follow the events. */

import { extname } from 'node:path';
import type { ResourceLimits, Worker } from 'node:worker_threads';
import type { Config } from '../config.ts';
import type { Clock } from '../domain/ports.ts';
import { ChangeProbe } from '../files/change-probe.ts';
import { compareFiles } from '../files/startup-check.ts';
import { importSummary, importV0 } from '../import/v0.ts';
import type { Duty } from '../loops/loop.ts';
import { busyMeter } from '../runtime/busy.ts';
import { startThread } from '../runtime/thread.ts';
import type { FilesData } from './files-thread.ts';
import { FilesWriter } from './files-writer.ts';
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

/** It lives beside this file, as a source or compiled as this one is. */
const ENTRY = new URL(`files-thread${extname(import.meta.url)}`, import.meta.url);

/** New objects die young here. The rest is for a batch of jobs whose inputs and results are a megabyte each. */
const LIMITS = { maxYoungGenerationSizeMb: 8, maxOldGenerationSizeMb: 512 };

export async function openFiles(config: Config, storage: Storage, clock: Clock, log: Log): Promise<Files> {
  const { store, dataDir } = storage;
  if (dataDir !== null) {
    const defaults = { leaseMs: config.leaseMs, maxAttempts: config.defaultMaxAttempts };
    const report = await importV0({ dir: dataDir.dir, store, now: clock.now(), defaults });
    if (report !== null && report.jobs + report.unreadable.length > 0)
      log.info(`Spine v0: ${importSummary(report)}`);
  }
  if (!config.files) return NONE;
  const startupCheck = await compareFiles(config.dataDir, store);
  if (startupCheck.setAside !== null)
    log.warn('The journal belonged to another database and was put aside', { folder: startupCheck.setAside });
  // Whoever was killed may have left changes unwritten of which the feed knows nothing.
  const isComplete = dataDir !== null && dataDir.closedInOrder && startupCheck.setAside === null;
  const changeProbe = isComplete ? await ChangeProbe.since(store.read, startupCheck) : null;
  const { dataDir: dir } = config;
  const data: FilesData = { dir, identity: store.identity, database: storage.database };
  return new FilesWriter({
    startupCheck,
    changeProbe,
    clock,
    busy: busyMeter(),
    startThread: () => filesThread(data),
  });
}

export function filesThread(data: FilesData, limits: ResourceLimits = LIMITS): Worker {
  return startThread({ name: 'files', entry: ENTRY, data, limits });
}
