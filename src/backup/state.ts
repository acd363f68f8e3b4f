/** How the last backup of a data dir went, kept in it, for `spine backup status` and for the server's next start. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { replaceFile } from '../files/atomic.ts';

export interface BackupState {
  readonly lastTryAt: number | null;
  readonly lastSnapshotAt: number | null;
  readonly lastRollupAt: number | null;
  /** Null when the last one went well. */
  readonly lastError: string | null;
}

const NOTHING: BackupState = { lastTryAt: null, lastSnapshotAt: null, lastRollupAt: null, lastError: null };

const fileOf = (dataDir: string): string => join(dataDir, 'backup.json');

/** A file that somebody damaged tells nothing; the next backup writes it anew. */
export async function readState(dataDir: string): Promise<BackupState> {
  const text = await readFile(fileOf(dataDir), 'utf8').catch(() => '{}');
  try {
    return { ...NOTHING, ...(JSON.parse(text) as Partial<BackupState>) };
  } catch {
    return NOTHING;
  }
}

export async function writeState(dataDir: string, news: Partial<BackupState>): Promise<void> {
  const state = { ...(await readState(dataDir)), ...news };
  await replaceFile(fileOf(dataDir), `${JSON.stringify(state)}\n`);
}
