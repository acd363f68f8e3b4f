/** Where the bytes of artifacts lie: in the data dir, or where all servers on one PostgreSQL find them. */

import { join } from 'node:path';
import type { BlobStore } from '../blobs/blobs.ts';
import { databaseBlobs } from '../blobs/database.ts';
import { openDiskBlobs } from '../blobs/disk.ts';
import { ownerOf } from '../blobs/owner.ts';
import { type Config, ConfigError } from '../config.ts';
import type { Clock } from '../domain/ports.ts';
import type { OpenEngine } from '../engine/open-engine.ts';
import { BlobSweeper } from '../loops/blob-sweeper.ts';
import type { Duty } from '../loops/loop.ts';
import type { Log } from './log.ts';

export interface Blobs {
  readonly store: BlobStore;
  readonly close: () => Promise<void>;
}

export interface BlobPorts {
  readonly newId: () => string;
  readonly now: () => number;
  /** How long to wait for the network is a matter of real time, also where a test moves the clock. */
  readonly netClock: Clock;
}

/** Null when the database keeps them. */
export function blobFolderOf({ databaseUrl, blobDir, dataDir }: Config): string | null {
  if (databaseUrl === null) return join(dataDir, 'blobs');
  return blobDir;
}

export async function openBlobs(config: Config, { newId, now, netClock }: BlobPorts): Promise<Blobs> {
  const { databaseUrl, blobDir } = config;
  if (databaseUrl === null) {
    if (blobDir !== null)
      throw new ConfigError([
        'SPINE_BLOB_DIR is for servers that share a PostgreSQL: set DATABASE_URL, too.',
      ]);
  } else if (blobDir === null) {
    // An embedded server has no use for it.
    const { openPieces } = await import('../store/postgres-pieces.ts');
    const table = openPieces(databaseUrl, netClock);
    return { store: databaseBlobs({ table, newId, now }), close: () => table.close() };
  }
  const folder = blobDir ?? join(config.dataDir, 'blobs');
  return { store: await openDiskBlobs({ folder, newId, now }), close: async () => undefined };
}

/** Forgotten artifacts are swept out, unless the folder is another installation's. */
export async function blobDuties(
  config: Config,
  { core }: OpenEngine,
  blobs: BlobStore,
  log: Log,
): Promise<readonly Duty[]> {
  const folder = blobFolderOf(config);
  if (folder === null) return [new BlobSweeper(core, blobs)];
  const { identity } = core.store;
  const owner = await ownerOf(folder, join(config.dataDir, 'spine.id'), identity);
  if (owner === identity) return [new BlobSweeper(core, blobs)];
  log.warn('The folder of artifacts belongs to another installation: nothing is swept out of it', {
    folder,
    owner,
  });
  return [];
}
