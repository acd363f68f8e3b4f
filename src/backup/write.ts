/** Brings what was gathered to a place. All that is written is read back and compared; the manifest comes last. */

import { stat } from 'node:fs/promises';
import { pathBelow } from '../disk/folder.ts';
import { type FileList, type ListedFile, type Manifest, parseFiles, printManifest } from './manifest.ts';
import {
  databaseKey,
  type Kind,
  type ListedPool,
  listKey,
  manifestKey,
  type Named,
  nameAt,
  OWNER_KEY,
  type Pool,
  POOLS,
  pooledKey,
} from './names.ts';
import { forEachOf } from './parallel.ts';
import { type Place, readText, type Source, sourceOf } from './place.ts';
import { BackupProblem } from './problem.ts';
import { type Amount, turnAt } from './rereading.ts';
import type { Piece, Staged, StagedList } from './staging.ts';
import { fileSource, type Sum, sumOf, sumOfText } from './sums.ts';
import { survey } from './survey.ts';

export interface WriteOptions {
  readonly kind: Kind;
  readonly at: number;
  readonly version: string;
}

export interface Written {
  readonly manifest: Manifest;
  /** What had to be brought there, of all that the backup consists of. */
  readonly uploadedBytes: number;
  /** Pieces that the place had, and that were not as they had been stored: they were put there again if they could be. */
  readonly changed: number;
}

const LOST_SHOWN = 20;

export async function writeBackup(place: Place, staged: Staged, options: WriteOptions): Promise<Written> {
  const { kind, version } = options;
  await mustOwn(place, staged.identity);
  const named: Named = { kind, name: await freeName(place, options) };
  const pooled = new Pooling(place, kind === 'rollup' ? turnAt(options.at, amountOf(staged)) : () => false);
  await pooled.look();
  for (const segment of staged.journal)
    if (!(await pooled.has('journal', segment))) await pooled.bring('journal', segment, segment.path);
  const lost = new Lost();
  if (staged.artifacts !== null) await bringFiles(pooled, 'artifacts', staged.artifacts, lost);
  if (staged.objects !== null) await bringFiles(pooled, 'objects', staged.objects, lost);
  const database = staged.database;
  if (database !== null) await putChecked(place, databaseKey(named), database);
  const artifacts = staged.artifacts && (await putList(place, listKey(named, 'artifacts'), staged.artifacts));
  const objects = staged.objects && (await putList(place, listKey(named, 'objects'), staged.objects));
  const manifest: Manifest = {
    format: 1,
    ...named,
    identity: staged.identity,
    version,
    at: options.at,
    database: database && { size: database.size, sha256: database.sha256 },
    jobs: staged.jobs,
    journal: staged.journal.map(({ file, size, sha256 }) => ({ file, size, sha256 })),
    artifacts,
    objects,
    lost: { count: lost.count, ids: lost.ids },
  };
  const text = printManifest(manifest);
  await putSource(place, manifestKey(named), sourceOf(text), sumOfText(text));
  const own = (database?.size ?? 0) + (artifacts?.size ?? 0) + (objects?.size ?? 0);
  return { manifest, uploadedBytes: pooled.uploadedBytes + own, changed: pooled.changed };
}

function amountOf({ journal, artifacts, objects }: Staged): Amount {
  const lists = [artifacts, objects].filter((list) => list !== null);
  return {
    count: lists.reduce((sum, { count }) => sum + count, journal.length),
    bytes: [...lists.map(({ bytes }) => bytes), ...journal.map(({ size }) => size)].reduce(
      (a, b) => a + b,
      0,
    ),
  };
}

/** Two installations under one prefix would restore each other's jobs. Said before the database is copied, too. */
export async function mustOwn(place: Place, identity: string | null): Promise<void> {
  const owner = await readText(place, OWNER_KEY, 1_000).catch((error: unknown) => {
    if (error instanceof BackupProblem && error.kind === 'not_found') return null;
    throw error;
  });
  if (identity === null) return;
  if (owner === null) return place.put(OWNER_KEY, sourceOf(`${identity}\n`));
  if (owner.trim() === identity) return;
  throw new BackupProblem(
    'conflict',
    `${place.name} holds the backups of another installation (${owner.trim().slice(0, 100)}). Set another SCHEDULER_BACKUP_PREFIX.`,
  );
}

/** Names are unique to the second; whoever comes in the same one takes the next that is free. */
async function freeName(place: Place, { kind, at }: WriteOptions): Promise<string> {
  const taken = new Set((await survey(place, [kind])).map(({ name }) => name));
  let time = at;
  while (taken.has(nameAt(time))) time += 1_000;
  return nameAt(time);
}

class Lost {
  count = 0;
  readonly ids: string[] = [];

  add(id: string): void {
    this.count++;
    if (this.ids.length < LOST_SHOWN) this.ids.push(id);
  }
}

async function bringFiles(pooled: Pooling, pool: ListedPool, list: StagedList, lost: Lost): Promise<void> {
  await forEachOf(parseFiles(fileSource(list.path, list.size).open()), async (one) => {
    if (await pooled.has(pool, one)) return;
    const file = pathBelow(list.folder, one.id);
    if (file !== null && (await isWhole(file, one))) return pooled.bring(pool, one, file);
    lost.add(one.id);
  });
}

async function putList(place: Place, key: string, list: StagedList): Promise<FileList> {
  await putChecked(place, key, list);
  const { size, sha256, count, bytes } = list;
  return { size, sha256, count, bytes };
}

/** A file that is gone, pruned since or lost, or that the disk has changed, must not keep the others from being saved. */
async function isWhole(file: string, { size, sha256 }: ListedFile): Promise<boolean> {
  const found = await stat(file).catch(() => null);
  if (found === null || !found.isFile() || found.size !== size) return false;
  const sum = await sumOf(fileSource(file, size).open()).catch(() => null);
  return sum?.sha256 === sha256;
}

/** What many backups share, each piece once. Its names are held in memory, about 150 bytes each. */
class Pooling {
  uploadedBytes = 0;
  changed = 0;
  readonly #place: Place;
  readonly #isDue: (piece: Sum) => boolean;
  readonly #sizes = new Map<string, number>();
  readonly #readAgain = new Map<string, Promise<boolean>>();

  /** What is due is read again before it counts as there. */
  constructor(place: Place, isDue: (piece: Sum) => boolean) {
    this.#place = place;
    this.#isDue = isDue;
  }

  async look(): Promise<void> {
    for (const pool of POOLS)
      for await (const { key, size } of this.#place.list(`${pool}/`)) this.#sizes.set(key, size);
  }

  async has(pool: Pool, sum: Sum): Promise<boolean> {
    const key = pooledKey(pool, sum.sha256);
    if (this.#sizes.get(key) !== sum.size) return false;
    if (!this.#isDue(sum)) return true;
    const reading = this.#readAgain.get(key) ?? this.#isAsStored(key, sum);
    this.#readAgain.set(key, reading);
    return reading;
  }

  async #isAsStored(key: string, sum: Sum): Promise<boolean> {
    if (await isAsStored(this.#place, key, sum)) return true;
    this.#sizes.delete(key);
    this.changed++;
    return false;
  }

  async bring(pool: Pool, sum: Sum, path: string): Promise<void> {
    const key = pooledKey(pool, sum.sha256);
    await putChecked(this.#place, key, { path, size: sum.size, sha256: sum.sha256 });
    this.#sizes.set(key, sum.size);
    this.#readAgain.delete(key);
    this.uploadedBytes += sum.size;
  }
}

async function isAsStored(place: Place, key: string, { size, sha256 }: Sum): Promise<boolean> {
  try {
    const found = await sumOf(place.read(key));
    return found.size === size && found.sha256 === sha256;
  } catch (error) {
    const isGone = error instanceof BackupProblem && error.kind === 'not_found';
    // A disk says itself which sectors it cannot read any more.
    if (isGone || (error as NodeJS.ErrnoException).code === 'EIO') return false;
    throw error;
  }
}

function putChecked(place: Place, key: string, { path, size, sha256 }: Piece): Promise<void> {
  return putSource(place, key, fileSource(path, size), sha256);
}

async function putSource(place: Place, key: string, source: Source, sha256: string): Promise<void> {
  await place.put(key, source);
  const back = await sumOf(place.read(key));
  if (back.sha256 === sha256 && back.size === source.size) return;
  await place.remove(key);
  throw new BackupProblem(
    'failure',
    `${key} did not come back from ${place.name} as it was written: it is no backup.`,
  );
}
