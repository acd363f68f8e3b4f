/** `spine doctor --deep`: reads everything there is, in a process of its own, while the server may go on. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createHash } from 'node:crypto';
import type { Config } from '../config.ts';
import type { Blob } from '../domain/blob.ts';
import { type Comparison, compareWithJournal } from '../files/journal-compare.ts';
import { systemClock } from '../runtime/clock.ts';
import { checkSqlite, type SqliteHealth } from '../store/sqlite-check.ts';
import { openSqliteReader } from '../store/sqlite-reader.ts';
import type { Reader } from '../store/store.ts';
import { blobFolderOf, openOwnBlobs } from './blobs.ts';
import { objectFolderOf, openOwnObjects } from './objects.ts';

export interface DeepFinding {
  readonly check: string;
  readonly status: 'pass' | 'warn' | 'fail';
  readonly message: string;
  readonly hint?: string;
}

const RESTORE = 'Restore a backup (spine backup restore), or stop the server and run `spine rebuild`.';
const REWRITE = 'Stop the server, move journal/ away and start again: it is written anew from the database.';
const SHOWN = 5;
const FILES_A_PAGE = 200;

export async function deepCheck(config: Config): Promise<readonly DeepFinding[]> {
  if (config.databaseUrl !== null) return deepCheckPostgres(config, config.databaseUrl);
  const file = join(config.dataDir, 'spine.db');
  if (!existsSync(file))
    return [{ check: 'database', status: 'warn', message: `there is no ${file} to look into` }];
  const health = checkSqlite(file);
  const database = databaseFindings(health);
  // Whoever cannot be read cannot be compared.
  if (health.file.length > 0) return database;
  const reader = openSqliteReader(file);
  try {
    const journal = await checkJournal(config, reader, RESTORE);
    return [...database, journal, await checkBlobs(config, reader), await checkObjects(config, reader)];
  } finally {
    await reader.close();
  }
}

async function deepCheckPostgres(config: Config, url: string): Promise<readonly DeepFinding[]> {
  const { checkPostgres } = await import('../store/postgres-check.ts');
  const { openPostgresReader } = await import('../store/postgres-reader.ts');
  const { indexes, rows, jobs } = await checkPostgres(url);
  const reader = openPostgresReader(url, 1);
  try {
    return [
      indexes === null
        ? {
            check: 'database',
            status: 'warn',
            message: 'its indexes were not looked into: the extension amcheck is not installed',
            hint: 'Run `create extension amcheck` as a superuser of that database.',
          }
        : finding('database', indexes, 'PostgreSQL finds nothing wrong with its indexes', PG_RESTORE),
      finding('rows', rows, `${jobs.toLocaleString('en')} jobs agree with counters and index`, PG_RESTORE),
      // Where no server writes one, a journal in this folder is of another database.
      ...(config.files ? [await checkJournal(config, reader, PG_RESTORE)] : []),
      await checkBlobs(config, reader),
      await checkObjects(config, reader),
    ];
  } finally {
    await reader.close();
  }
}

const PG_RESTORE = 'Run `reindex database`; if that does not help, restore a backup.';

function databaseFindings({ file, rows, jobs }: SqliteHealth): DeepFinding[] {
  const whole = finding('database', file, 'SQLite finds nothing wrong with its file', RESTORE);
  if (file.length > 0) return [whole];
  const agree = `${jobs.toLocaleString('en')} jobs agree with counters, index and each other`;
  return [whole, finding('rows', rows, agree, RESTORE)];
}

async function checkJournal({ dataDir }: Config, { read }: Reader, restore: string): Promise<DeepFinding> {
  const dir = join(dataDir, 'journal');
  if (!existsSync(dir))
    return { check: 'journal', status: 'pass', message: 'there is no journal to compare with' };
  let found: Comparison;
  try {
    found = await compareWithJournal(dir, read);
  } catch (error) {
    return finding('journal', [`a row cannot be read (${(error as Error).message})`], '', restore);
  }
  const { damaged, different, jobs, events } = found;
  if (different.length > 0) return finding('journal', different, '', restore);
  const agree = `${jobs.toLocaleString('en')} jobs and ${events.toLocaleString('en')} events are as they were written down`;
  return finding('journal', damaged, agree, REWRITE);
}

async function checkBlobs(config: Config, { read }: Reader): Promise<DeepFinding> {
  if (config.blobBucket !== null) return leftAlone('artifacts', config.blobBucket);
  const { store: blobs, close } = await openOwnBlobs(config, {
    newId: () => '',
    now: () => 0,
    netClock: systemClock(),
  });
  const wrong: string[] = [];
  let count = 0;
  try {
    for (let page = await read.blobs.after('', FILES_A_PAGE); page.length > 0; ) {
      for (const blob of page) if (!(await isWhole(blob))) wrong.push(`${blob.id} (${blob.filename})`);
      count += page.length;
      page = await read.blobs.after(page.at(-1)?.id ?? '', FILES_A_PAGE);
    }
  } finally {
    await close();
  }
  const hint =
    blobFolderOf(config) === null
      ? 'Bring the rows of `piece` with these names back from a backup of the database, or upload the files again.'
      : 'Put these files in blobs/ back from a backup, or upload them again.';
  return finding('artifacts', wrong, `${count.toLocaleString('en')} have the bytes that were stored`, hint);

  async function isWhole({ id, sha256 }: Blob): Promise<boolean> {
    return (await blobs.sha256(id)) === sha256;
  }
}

/** What bots collected. */
async function checkObjects(config: Config, { read }: Reader): Promise<DeepFinding> {
  if (config.objectBucket !== null) return leftAlone('task data', config.objectBucket);
  const { store: objects, close } = await openOwnObjects(config, systemClock());
  const wrong: string[] = [];
  let count = 0;
  try {
    for (let page = await read.taskData.batchesAfter('', FILES_A_PAGE); page.length > 0; ) {
      for (const { key, sha256 } of page) if ((await sumOf(key)) !== sha256) wrong.push(key);
      count += page.length;
      page = await read.taskData.batchesAfter(page.at(-1)?.key ?? '', FILES_A_PAGE);
    }
  } finally {
    await close();
  }
  const hint =
    objectFolderOf(config) === null
      ? 'Bring the rows of `piece` with these names back from a backup of the database.'
      : 'Put these files in objects/ back from a backup.';
  return finding('task data', wrong, `${count.toLocaleString('en')} have the bytes that were stored`, hint);

  async function sumOf(key: string): Promise<string | null> {
    const content = await objects.open(key).catch(() => null);
    if (content === null) return null;
    const hash = createHash('sha256');
    try {
      for await (const chunk of content) hash.update(chunk);
    } catch {
      return null;
    }
    return hash.digest('hex');
  }
}

/** A bucket is looked after by whoever keeps it. */
function leftAlone(check: string, bucket: string): DeepFinding {
  return { check, status: 'pass', message: `they lie in the bucket ${bucket}, which was not looked into` };
}

function finding(check: string, wrong: readonly string[], well: string, hint: string): DeepFinding {
  if (wrong.length === 0) return { check, status: 'pass', message: well };
  const more = wrong.length > SHOWN ? ` and ${wrong.length - SHOWN} more` : '';
  return { check, status: 'fail', message: `${wrong.slice(0, SHOWN).join('; ')}${more}`, hint };
}
