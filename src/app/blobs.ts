/** Where the bytes of artifacts lie: in the data dir, or where all servers of an installation find them. */

import { join } from 'node:path';
import type { BlobStore } from '../blobs/blobs.ts';
import { databaseBlobs } from '../blobs/database.ts';
import { openDiskBlobs } from '../blobs/disk.ts';
import { ownerOf } from '../blobs/owner.ts';
import { type BucketBlobs, bucketBlobs } from '../blobs/s3.ts';
import { type Config, ConfigError } from '../config.ts';
import type { Clock } from '../domain/ports.ts';
import type { OpenEngine } from '../engine/open-engine.ts';
import { BlobSweeper } from '../loops/blob-sweeper.ts';
import type { Duty } from '../loops/loop.ts';
import { MAX_UPLOAD_BYTES, openBucketOf } from './bucket.ts';
import type { Log } from './log.ts';

export interface Blobs {
  readonly store: BlobStore;
  /** Set where they lie in a bucket. */
  readonly inBucket?: BucketBlobs;
  readonly close: () => Promise<void>;
}

export interface BlobPorts {
  readonly newId: () => string;
  readonly now: () => number;
  /** How long to wait for the network is a matter of real time, also where a test moves the clock. */
  readonly netClock: Clock;
}

const UPLOAD_LIMIT_MS = 24 * 3_600_000;

/** Null when the database keeps them, or a bucket. */
export function blobFolderOf({ databaseUrl, blobDir, blobBucket, dataDir }: Config): string | null {
  if (blobBucket !== null) return null;
  if (databaseUrl === null) return join(dataDir, 'blobs');
  return blobDir;
}

export async function openBlobs(config: Config, ports: BlobPorts, log: Log): Promise<Blobs> {
  const { databaseUrl, blobDir, blobBucket } = config;
  if (blobBucket !== null && blobDir !== null)
    throw new ConfigError(['Set SPINE_BLOB_DIR or SPINE_BLOB_BUCKET, not both: artifacts lie in one place.']);
  if (databaseUrl === null && blobDir !== null)
    throw new ConfigError(['SPINE_BLOB_DIR is for servers that share a PostgreSQL: set DATABASE_URL, too.']);
  return blobBucket === null ? openOwnBlobs(config, ports) : openBucketBlobs(config, blobBucket, ports, log);
}

/** Where no bucket keeps them. */
export async function openOwnBlobs(
  { databaseUrl, blobDir, dataDir }: Config,
  { newId, now, netClock }: BlobPorts,
): Promise<Blobs> {
  if (databaseUrl !== null && blobDir === null) {
    // An embedded server has no use for it.
    const { openPieces } = await import('../store/postgres-pieces.ts');
    const table = openPieces(databaseUrl, netClock);
    return { store: databaseBlobs({ table, newId, now }), close: () => table.close() };
  }
  const folder = blobDir ?? join(dataDir, 'blobs');
  return { store: await openDiskBlobs({ folder, newId, now }), close: async () => undefined };
}

async function openBucketBlobs(
  config: Config,
  name: string,
  { newId, now, netClock }: BlobPorts,
  log: Log,
): Promise<Blobs> {
  if (config.blobLimitBytes > MAX_UPLOAD_BYTES)
    throw new ConfigError([
      `SPINE_BLOB_LIMIT_BYTES may be ${MAX_UPLOAD_BYTES} at most with SPINE_BLOB_BUCKET: S3 takes no larger object at once.`,
    ]);
  const bucket = await openBucketOf(config, {
    setting: 'SPINE_BLOB_BUCKET',
    bucket: name,
    holds: 'artifacts',
    clock: netClock,
    log,
  });
  const spool = await openDiskBlobs({ folder: join(config.dataDir, 'uploads'), newId, now });
  // A server that died left them: they never became artifacts.
  for await (const file of spool.files()) await spool.drop(file.name, now() - UPLOAD_LIMIT_MS);
  const store = bucketBlobs({ bucket, name: `s3://${name}`, spool });
  return { store, inBucket: store, close: async () => undefined };
}

/** Forgotten artifacts are swept out, unless they are another installation's. */
export async function blobDuties(
  config: Config,
  { core }: OpenEngine,
  { store: blobs, inBucket }: Blobs,
  log: Log,
): Promise<readonly Duty[]> {
  const { identity } = core.store;
  const isOurs = (owner: string, place: string): boolean => {
    if (owner === identity) return true;
    log.warn(`${place} belongs to another installation: nothing is swept out of it`, { owner });
    return false;
  };
  if (inBucket !== undefined) {
    const place = `The bucket ${config.blobBucket} of artifacts`;
    // Asked when it is needed: a storage that is away keeps no server from starting.
    return [new BlobSweeper(core, blobs, async () => isOurs(await inBucket.owner(identity), place))];
  }
  const folder = blobFolderOf(config);
  if (folder !== null) {
    const owner = await ownerOf(folder, join(config.dataDir, 'spine.id'), identity);
    if (!isOurs(owner, `The folder ${folder} of artifacts`)) return [];
  }
  return [new BlobSweeper(core, blobs)];
}
