/** What `spine backup` and the server's loop do: make one, look at them, bring one back. */

import { join } from 'node:path';
import { DirInUse } from '../store/datadir-files.ts';
import { takeLock } from '../store/datadir-lock.ts';
import type { Alone } from '../store/postgres-alone.ts';
import { type Manifest, readManifest } from './manifest.ts';
import { type Kind, manifestKey, POOLS } from './names.ts';
import type { Place } from './place.ts';
import { BackupProblem, problemOf } from './problem.ts';
import { emptyPools, removeOld, type Retention } from './retention.ts';
import { withStaged } from './staging.ts';
import { type BackupState, readState, writeState } from './state.ts';
import { survey } from './survey.ts';
import { mustOwn, writeBackup, type Written } from './write.ts';

export interface Installation {
  readonly dataDir: string;
  /** Null for SQLite. */
  readonly postgresUrl: string | null;
  /** Where the artifacts lie; null when that is the database. */
  readonly blobFolder: string | null;
  /** Where what bots collect lies; null when that is a bucket. */
  readonly objectFolder: string | null;
  /** Of Spine. */
  readonly version: string;
  readonly retention: Retention;
  /** Whether the next backup of the server's own is counted from this one: not when it goes elsewhere. */
  readonly counts: boolean;
}

export interface Made extends Written {
  readonly place: string;
  /** Older ones that had to go. */
  readonly removed: number;
}

/** To every place; one that fails keeps no other from getting its copy, and is told in the end. */
export async function make(
  installation: Installation,
  places: readonly Place[],
  kind: Kind,
  now: number,
): Promise<readonly Made[]> {
  const { dataDir } = installation;
  const note = async (news: Partial<BackupState>): Promise<void> => {
    if (installation.counts) await writeState(dataDir, news);
  };
  return alone(installation, async () => {
    const done = kind === 'rollup' ? { lastRollupAt: now } : { lastSnapshotAt: now };
    try {
      const made = await makeAll(installation, places, kind, now);
      await note({ lastTryAt: now, lastError: null, ...done });
      return made;
    } catch (error) {
      const problem = problemOf(error);
      const news = { lastTryAt: now, lastError: problem.message, ...(problem.partly && done) };
      // On a full disk this fails as well; the problem itself is what has to be told.
      await note(news).catch(() => undefined);
      throw problem;
    }
  });
}

async function makeAll(
  installation: Installation,
  places: readonly Place[],
  kind: Kind,
  now: number,
): Promise<readonly Made[]> {
  const { version, retention } = installation;
  const problems: BackupProblem[] = [];
  // A place that cannot be reached, or does not let us in, is not worth a copy of the database.
  const open = await each(places, problems, async (place) => {
    await mustOwn(place, null);
    return place;
  });
  if (open.length === 0) throw together(problems, false);
  const made = await withStaged(installation, (staged) =>
    each(open, problems, async (place) => {
      const written = await writeBackup(place, staged, { kind, at: now, version });
      return { ...written, place: place.name, removed: await tidyUp(place, retention, kind, now) };
    }),
  );
  if (problems.length > 0) throw together(problems, made.length > 0);
  return made;
}

async function each<T>(
  places: readonly Place[],
  problems: BackupProblem[],
  work: (place: Place) => Promise<T>,
): Promise<readonly T[]> {
  const done: T[] = [];
  for (const place of places) {
    try {
      done.push(await work(place));
    } catch (error) {
      problems.push(problemOf(error));
    }
  }
  return done;
}

function together(problems: readonly BackupProblem[], partly: boolean): BackupProblem {
  const [first] = problems;
  const message = problems.map((problem) => problem.message).join('\n');
  return new BackupProblem(
    first?.kind ?? 'failure',
    message,
    first,
    partly || problems.some((one) => one.partly),
  );
}

async function tidyUp(place: Place, retention: Retention, kind: Kind, now: number): Promise<number> {
  try {
    const removed = await removeOld(place, now, retention);
    if (kind === 'rollup') await emptyPools(place);
    return removed;
  } catch (error) {
    const { kind: why, message } = problemOf(error);
    const text = `The ${kind} is made, but old ones in ${place.name} cannot be removed: ${message}`;
    throw new BackupProblem(why, text, error, true);
  }
}

/** Two at once would take away each other's files. The locks die with the process that has them. */
async function alone<T>({ dataDir, postgresUrl }: Installation, work: () => Promise<T>): Promise<T> {
  const lock = lockOf(dataDir);
  try {
    const shared = postgresUrl === null ? null : await sharedLock(postgresUrl);
    try {
      return await work();
    } finally {
      await shared?.release();
    }
  } finally {
    lock.release();
  }
}

/** Servers that share a database each have a data dir of their own, and back up to the same places. */
async function sharedLock(postgresUrl: string): Promise<Alone> {
  const { tryAlone } = await import('../store/postgres-alone.ts');
  const lock = await tryAlone(postgresUrl, 'backup');
  if (lock !== null) return lock;
  throw new BackupProblem('busy', 'Another server of this database makes a backup. Try again later.');
}

function lockOf(dataDir: string): { release(): void } {
  try {
    return takeLock(
      join(dataDir, 'backup.lock'),
      join(dataDir, 'backup.pid'),
      (holder) => `Another backup of this data dir is under way (process ${holder}). Try again later.`,
    );
  } catch (error) {
    if (error instanceof DirInUse) throw new BackupProblem('busy', error.message, error);
    throw new BackupProblem(
      'not_found',
      `There is no data dir at ${dataDir}. Name it with --data-dir.`,
      error,
    );
  }
}

export interface Entry {
  readonly kind: Kind;
  readonly name: string;
  readonly place: string;
  readonly at: number;
  /** Without artifacts and journal, which backups share. */
  readonly bytes: number;
}

/** Newest first. */
export async function list(places: readonly Place[]): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  for (const place of places) {
    for (const { complete, kind, name, at, bytes } of await survey(place))
      if (complete) entries.push({ kind, name, place: place.name, at, bytes });
  }
  return entries.toSorted((a, b) => b.at - a.at);
}

export interface PlaceStatus {
  readonly place: string;
  readonly snapshots: number;
  readonly rollups: number;
  /** Everything, with artifacts and journals. */
  readonly bytes: number;
  readonly newest: Manifest | null;
  /** Why it cannot be looked at, or why the newest one cannot be used. */
  readonly error: string | null;
}

export interface Status extends BackupState {
  readonly places: readonly PlaceStatus[];
}

export async function status(dataDir: string, places: readonly Place[]): Promise<Status> {
  const looked: PlaceStatus[] = [];
  for (const place of places) looked.push(await statusOf(place));
  return { ...(await readState(dataDir)), places: looked };
}

async function statusOf(place: Place): Promise<PlaceStatus> {
  const nothing = { place: place.name, snapshots: 0, rollups: 0, bytes: 0, newest: null };
  try {
    const found = (await survey(place)).filter(({ complete }) => complete);
    let bytes = found.reduce((sum, each) => sum + each.bytes, 0);
    for (const pool of POOLS) for await (const { size } of place.list(`${pool}/`)) bytes += size;
    const rollups = found.filter(({ kind }) => kind === 'rollup').length;
    const [first] = found;
    const newest = first === undefined ? null : await readManifest(place, manifestKey(first));
    const isDamaged = first !== undefined && newest === null;
    const error = isDamaged ? `The manifest of ${first.name} is damaged.` : null;
    return { ...nothing, snapshots: found.length - rollups, rollups, bytes, newest, error };
  } catch (error) {
    return { ...nothing, error: problemOf(error).message };
  }
}
