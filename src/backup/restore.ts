/** Brings the newest backup back whose every byte is as it was stored. */

import { readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeFolder, pathBelow, syncFolder } from '../disk/folder.ts';
import { damageOf, identityOf } from '../store/sqlite-copy.ts';
import { openForRestore, type Restore } from '../store/datadir-restore.ts';
import { type Manifest, parseFiles, readManifest } from './manifest.ts';
import { databaseKey, type ListedPool, listKey, manifestKey, pooledKey } from './names.ts';
import { forEachOf } from './parallel.ts';
import type { Place } from './place.ts';
import { BackupProblem } from './problem.ts';
import { checked, Damaged, fileSource, sumOf, writeFile } from './sums.ts';
import { type Found, survey } from './survey.ts';

export interface RestoreOptions {
  readonly dataDir: string;
  readonly places: readonly Place[];
  /** Where artifacts belong; null when that is the database, which brings back its own. */
  readonly blobFolder: string | null;
  /** The artifacts alone: the database is not ours to restore. */
  readonly onPostgres: boolean;
  /** Where what bots collected belongs; null when that is a bucket or the database. */
  readonly objectFolder: string | null;
  /** Puts aside what is there. */
  readonly force: boolean;
  /** This one instead of the newest. */
  readonly name: string | null;
}

export interface Restored {
  readonly place: string;
  readonly manifest: Manifest;
  /** Backups that were newer and could not be used, each with the reason. */
  readonly skipped: readonly string[];
  /** Where went what stood in the data dir. */
  readonly asides: readonly string[];
  readonly artifacts: number;
  /** Of what bots collected. */
  readonly objects: number;
  /** Artifacts and objects that could not be brought back. */
  readonly lost: readonly string[];
  readonly journal: boolean;
}

type Candidate = Found & { readonly place: Place };

export async function restoreNewest(options: RestoreOptions): Promise<Restored> {
  const { dataDir, force, onPostgres } = options;
  const target = onPostgres ? null : await openForRestore(dataDir);
  try {
    if (target?.isOccupied === true && !force)
      throw new BackupProblem(
        'conflict',
        `There is an installation in ${dataDir}. Name an empty folder with --data-dir, or add --force: what is there is put aside.`,
      );
    const candidates = await find(options);
    const skipped: string[] = [];
    for (const candidate of candidates) {
      const found = await readBack(candidate, target);
      if ('why' in found) skipped.push(`${titleOf(candidate)} ${found.why}`);
      else return await bring(candidate, found.manifest, { options, target, skipped });
    }
    throw new BackupProblem('not_found', nothingIn(options, skipped));
  } finally {
    target?.release();
  }
}

function nothingIn({ places, name }: RestoreOptions, skipped: readonly string[]): string {
  const where = places.map((place) => place.name).join(' and ');
  const what = name === null ? 'no backup that can be restored' : `no backup ${name} that can be restored`;
  return [...skipped, `There is ${what} in ${where}.`].join('\n');
}

const titleOf = ({ kind, name, place }: Candidate): string => `The ${kind} ${name} in ${place.name}`;

/** All of them, newest first, wherever they are. */
async function find({ places, name }: RestoreOptions): Promise<readonly Candidate[]> {
  const all: Candidate[] = [];
  for (const place of places) for (const found of await survey(place)) all.push({ ...found, place });
  return all
    .filter((found) => found.complete && (name === null || found.name === name))
    .toSorted((a, b) => b.at - a.at || a.kind.localeCompare(b.kind));
}

type Judged = { readonly manifest: Manifest } | { readonly why: string };

/** Fetches manifest and database, and looks whether they are whole; nothing is in its place yet. */
async function readBack(candidate: Candidate, target: Restore | null): Promise<Judged> {
  const { place } = candidate;
  try {
    const manifest = await readManifest(place, manifestKey(candidate));
    if (manifest === null) return { why: 'is damaged: its manifest was changed since it was written.' };
    const { artifacts, objects } = manifest;
    if (artifacts !== null) await sumOf(checked(place.read(listKey(candidate, 'artifacts')), artifacts));
    if (objects !== null) await sumOf(checked(place.read(listKey(candidate, 'objects')), objects));
    if (target === null) return { manifest };
    if (manifest.database === null)
      return { why: 'has no database in it: it is of an installation on PostgreSQL.' };
    await writeFile(target.dbFile, checked(place.read(databaseKey(candidate)), manifest.database));
    const damage = damageOf(target.dbFile);
    return damage === null ? { manifest } : { why: `is damaged: ${damage}.` };
  } catch (error) {
    const why = whyUnfit(error);
    if (why === null) throw error;
    return { why };
  }

  function whyUnfit(error: unknown): string | null {
    if (error instanceof Damaged) return 'is damaged: its bytes are not those that were stored (SHA-256).';
    if (error instanceof RangeError) return 'is damaged: its manifest was changed since it was written.';
    return error instanceof BackupProblem && error.kind === 'not_found'
      ? 'is not whole: a part is missing.'
      : null;
  }
}

interface Bringing {
  readonly options: RestoreOptions;
  readonly target: Restore | null;
  readonly skipped: readonly string[];
}

async function bring(candidate: Candidate, manifest: Manifest, bringing: Bringing): Promise<Restored> {
  const { target, skipped, options } = bringing;
  const lost: string[] = [];
  const folders = { artifacts: options.blobFolder, objects: options.objectFolder };
  const filesOf = (pool: ListedPool): Promise<number> =>
    bringFiles(candidate, manifest, { pool, folder: folders[pool], lost });
  const artifacts = await filesOf('artifacts');
  const objects = await filesOf('objects');
  const journal = target !== null && (await bringJournal(candidate.place, manifest, target.journalDir));
  const asides = target?.commit(identityOf(target.dbFile)) ?? [];
  return { place: candidate.place.name, manifest, skipped, asides, artifacts, objects, lost, journal };
}

/** Of artifacts, as servers make them: a list that somebody changed must not lead out of the folder. */
const ID = /^[\w-]{1,64}$/;

/** Answers how many there are now. */
async function bringFiles(
  candidate: Candidate,
  manifest: Manifest,
  {
    pool,
    folder,
    lost,
  }: { readonly pool: ListedPool; readonly folder: string | null; readonly lost: string[] },
): Promise<number> {
  const { place } = candidate;
  const list = manifest[pool];
  if (list === null || folder === null) return 0;
  await makeFolder(folder);
  let brought = 0;
  const lines = checked(place.read(listKey(candidate, pool)), list);
  await forEachOf(parseFiles(lines), async ({ id, sha256, size }) => {
    const file = pool === 'objects' || ID.test(id) ? pathBelow(folder, id) : null;
    const isFine =
      file !== null &&
      ((await isThere(file, { sha256, size })) || (await fetch(place, { pool, file, sha256, size })));
    if (isFine) brought++;
    else lost.push(id);
  });
  await syncFolder(folder);
  return brought;
}

async function isThere(file: string, sum: { sha256: string; size: number }): Promise<boolean> {
  try {
    return (await sumOf(checked(fileSource(file, sum.size).open(), sum))).size === sum.size;
  } catch {
    return false;
  }
}

/** False when the place does not have these bytes any more. */
async function fetch(
  place: Place,
  { pool, file, sha256, size }: { pool: ListedPool; file: string; sha256: string; size: number },
): Promise<boolean> {
  const part = `${file}.part`;
  await makeFolder(dirname(file));
  try {
    await writeFile(part, checked(place.read(pooledKey(pool, sha256)), { sha256, size }));
    await rename(part, file);
    if (pool === 'objects') await syncFolder(dirname(file));
    return true;
  } catch (error) {
    await rm(part, { force: true });
    if (error instanceof Damaged || (error instanceof BackupProblem && error.kind === 'not_found'))
      return false;
    throw error;
  }
}

const SEGMENT = /^\d{6,15}(\.base)?\.jsonl$/;

/** All of it or nothing: the server writes a journal anew that is not there, and a hole in one would not be noticed. */
async function bringJournal(place: Place, { journal }: Manifest, dir: string): Promise<boolean> {
  try {
    for (const { file, sha256, size } of journal) {
      if (!SEGMENT.test(file)) throw new Damaged();
      await writeFile(join(dir, file), checked(place.read(pooledKey('journal', sha256)), { sha256, size }));
    }
    await syncFolder(dir);
    return journal.length > 0;
  } catch (error) {
    const isGone = error instanceof BackupProblem && error.kind === 'not_found';
    if (!(error instanceof Damaged) && !isGone) throw error;
    for (const name of await readdir(dir)) await rm(join(dir, name));
    return false;
  }
}
