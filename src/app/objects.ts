/** Where large data of tasks lies: in the bucket that the settings name, else where all servers of the installation find it. */

import { join } from 'node:path';
import type { Config } from '../config.ts';
import type { Clock } from '../domain/ports.ts';
import { databaseObjects } from '../objects/database.ts';
import { diskObjects } from '../objects/disk.ts';
import type { ObjectStore } from '../objects/objects.ts';
import { s3Objects } from '../objects/s3.ts';
import { openBucketOf } from './bucket.ts';
import type { Log } from './log.ts';

/** Null when a bucket keeps them, or the database. */
export function objectFolderOf({ objectBucket, databaseUrl, blobDir, dataDir }: Config): string | null {
  if (objectBucket !== null) return null;
  if (databaseUrl === null) return join(dataDir, 'objects');
  return blobDir === null ? null : join(blobDir, 'objects');
}

export interface Objects {
  readonly store: ObjectStore;
  readonly close: () => Promise<void>;
}

export async function openObjects(config: Config, clock: Clock, log: Log): Promise<Objects> {
  const { objectBucket, objectPrefix } = config;
  if (objectBucket === null) return openOwnObjects(config, clock);
  const use = { setting: 'S3_BUCKET', bucket: objectBucket, holds: 'task data', clock, log };
  const bucket = await openBucketOf(config, use);
  return { store: s3Objects(bucket, objectPrefix), close: async () => undefined };
}

/** Where no bucket keeps them. */
export async function openOwnObjects(config: Config, clock: Clock): Promise<Objects> {
  const { databaseUrl, objectPrefix: dataPrefix } = config;
  const folder = objectFolderOf(config);
  if (folder !== null) return { store: diskObjects(folder, dataPrefix), close: async () => undefined };
  if (databaseUrl === null) throw new Error('an embedded installation has a folder for its objects');
  // An embedded server has no use for it.
  const { openPieces } = await import('../store/postgres-pieces.ts');
  const table = openPieces(databaseUrl, clock);
  return { store: databaseObjects(table, dataPrefix, () => clock.now()), close: () => table.close() };
}
