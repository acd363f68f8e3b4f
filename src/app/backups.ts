/** Backups of this installation, made in a thread of their own: they hold up nobody, and end when they are told to. */

import { homedir } from 'node:os';
import { extname } from 'node:path';
import { destinationsOf } from '../backup/destination.ts';
import { BackupProblem } from '../backup/problem.ts';
import type { Made } from '../backup/run.ts';
import { readState } from '../backup/state.ts';
import { type Config, ConfigError } from '../config.ts';
import { type BackupMaker, backupDuty } from '../loops/backup.ts';
import type { Duty } from '../loops/loop.ts';
import { startThread, Thread } from '../runtime/thread.ts';
import { blobFolderOf } from './blobs.ts';
import type { Log } from './log.ts';
import { objectFolderOf } from './objects.ts';
import { type BackupData, type BackupMethods, type Outcome, outcomeOf } from './backup-thread.ts';

/** It lives beside this file, as a source or compiled as this one is. */
const ENTRY = new URL(`backup-thread${extname(import.meta.url)}`, import.meta.url);

/** A few parts of an upload, and the names of all artifacts. */
const LIMITS = { maxYoungGenerationSizeMb: 16, maxOldGenerationSizeMb: 512 };

const HOUR_MS = 3_600_000;

export function dataOf(config: Config, to: string | null, version: string): BackupData {
  return {
    installation: {
      dataDir: config.dataDir,
      postgresUrl: config.databaseUrl,
      blobFolder: blobFolderOf(config),
      objectFolder: objectFolderOf(config),
      version,
      counts: to === null,
      retention: {
        snapshotMs: config.backupRetentionH * HOUR_MS,
        rollupMs: config.backupRollupDays * 24 * HOUR_MS,
      },
    },
    destinations: destinationsOf(config, to, homedir()),
  };
}

function openThread(data: BackupData): Thread<BackupMethods> {
  return new Thread(() => startThread({ name: 'backup', entry: ENTRY, data, limits: LIMITS }));
}

/** One call in a thread that ends with it: a storage that never answers keeps no command from ending. */
export async function once<T>(
  data: () => BackupData,
  call: (thread: Thread<BackupMethods>) => Promise<Outcome<T>>,
): Promise<Outcome<T>> {
  const prepared = await outcomeOf(data);
  if (!prepared.ok) return prepared;
  const thread = openThread(prepared.value);
  try {
    return await call(thread);
  } finally {
    await thread.end();
  }
}

export interface Backups {
  readonly duties: readonly Duty[];
  /** Gives up what is under way: without its manifest it is no backup. */
  stop(): Promise<void>;
}

/** Throws when the settings do not fit together: a server that cannot back up as it was told does not start. */
export function openBackups(
  config: Config,
  version: string,
  now: () => number,
  log: Pick<Log, 'warn'>,
): Backups {
  if (!config.backupEnabled) return { duties: [], stop: async () => undefined };
  const thread = openThread(mustBe(() => dataOf(config, null, version)));
  let isStopping = false;
  const maker: BackupMaker = {
    last: () => readState(config.dataDir),
    async make(kind, at) {
      if (isStopping) return { made: true };
      try {
        const made = await thread.call('make', kind, at);
        if (!made.ok) return { ...made.problem, made: false };
        for (const each of made.value) tellWhatIsWrong(each, log);
        return { made: true };
      } catch (error) {
        // It was ended on purpose: nobody is to be told.
        if (isStopping) return { made: true };
        throw error;
      }
    },
  };
  return {
    duties: [backupDuty({ everyMs: config.backupMs, now, maker })],
    stop: async () => {
      isStopping = true;
      await thread.end();
    },
  };
}

/** It is a backup all the same, and the next one will lack the same: so it is no failure. */
export function tellWhatIsWrong({ place, manifest, changed }: Made, log: Pick<Log, 'warn'>): void {
  const { name, lost } = manifest;
  if (lost.count > 0)
    log.warn('A backup lacks files that could not be read as stored', {
      place,
      name,
      files: lost.count,
      ids: lost.ids.join(' '),
    });
  if (changed > 0)
    log.warn('Pieces of backups had changed in the storage; what is whole here was stored again', {
      place,
      pieces: changed,
    });
}

function mustBe(data: () => BackupData): BackupData {
  try {
    return data();
  } catch (error) {
    throw error instanceof BackupProblem ? new ConfigError([error.message]) : error;
  }
}
