/** Whether the database that lies in a data dir is whole and the one that belongs there. */

import { closeSync, fstatSync, lstatSync, openSync, readSync, type Stats } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { DataDirError, type Names } from './datadir-files.ts';

/** SQLite checks about 1 GB a second, a cold disk less; a larger file is checked as far as it costs nothing. */
const FULL_CHECK_BYTES = 128 * 1024 * 1024;

const REMEDY = 'Restore it from a backup (spine backup restore), or run `spine rebuild`.';

/** Answers the identity found in the database, or null when a new one is to be made. */
export function checkDatabase(names: Names, known: string | null): string | null {
  const file = lstatIfThere(names.db);
  if (file === null || (file.isFile() && file.size === 0)) return onNothing(names, known, file);
  if (!file.isFile())
    throw new DataDirError(
      `${names.db} is not a plain file. Move the whole data dir instead of linking to it (SPINE_DATA_DIR).`,
    );
  const short = checkHeader(names);
  const found = lookInside(names, short || file.size <= FULL_CHECK_BYTES);
  if (found === 'unborn')
    return known === null ? null : refuse(names, `is empty, but ${names.id} says a database was here`);
  if (found === 'foreign')
    throw new DataDirError(
      `${names.db} is not a database of Spine. Move it away, or set another SPINE_DATA_DIR.`,
    );
  if (known !== null && known !== found.identity) {
    return refuse(
      names,
      `belongs to another installation (${found.identity}) than ${names.id} says (${known})`,
    );
  }
  return found.identity;
}

function onNothing(names: Names, known: string | null, file: Stats | null): null {
  if (known !== null)
    refuse(names, `is ${file === null ? 'missing' : 'empty'}, but ${names.id} says a database was here`);
  const log = lstatIfThere(`${names.db}-wal`);
  if (log !== null && log.size > 0)
    refuse(names, `is ${file === null ? 'missing' : 'empty'}, but its log ${names.db}-wal is there`);
  return null;
}

/** A killed server always leaves the log behind; without it the last commits would be gone without a word. */
function checkLog(names: Names, usesLog: boolean): void {
  if (!usesLog && hasLog(names)) {
    throw new DataDirError(
      `${names.db} is a backup, but ${names.db}-wal beside it belongs to the database before. Move ${names.db}-wal and ${names.db}-shm away.`,
    );
  }
  if (!usesLog || lstatIfThere(names.open) === null || lstatIfThere(`${names.db}-wal`) !== null) return;
  throw new DataDirError(
    `${names.db}-wal is missing, but the last server did not stop in good order: its last writes were there. Put it back, run \`spine rebuild\`, or delete ${names.open} to start without them.`,
  );
}

/** Refuses a file that is not SQLite or too short; answers whether only the log could make it whole. */
function checkHeader(names: Names): boolean {
  const header = Buffer.alloc(100);
  const size = readStart(names.db, header);
  if (size < 100 || header.toString('latin1', 0, 16) !== 'SQLite format 3\0')
    return refuse(names, 'is not a SQLite database');
  // A running server keeps a log, a backup needs none; SQLite would apply any log it finds to any file.
  checkLog(names, header[18] === 2);
  const pageSize = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16);
  // The count is only kept up by writers that also copied the change counter.
  const counted = header.readUInt32BE(24) === header.readUInt32BE(92);
  const short = counted && size < header.readUInt32BE(28) * pageSize;
  // A server killed while it moved pages from the log leaves a short file that the log completes.
  if (short && !hasLog(names)) return refuse(names, 'is cut off');
  return short;
}

function readStart(file: string, into: Buffer): number {
  try {
    const fd = openSync(file, 'r');
    try {
      readSync(fd, into, 0, into.length, 0);
      return fstatSync(fd).size;
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    throw new DataDirError(`${file} cannot be read. Give it to the user who runs Spine (chown, chmod 600).`, {
      cause: error,
    });
  }
}

type Inside = { readonly identity: string } | 'unborn' | 'foreign';

function lookInside(names: Names, whole: boolean): Inside {
  try {
    const database = new DatabaseSync(names.db, { readOnly: true });
    try {
      database.exec('pragma trusted_schema = off');
      const tables = new Set(
        database
          .prepare("select name from sqlite_schema where type = 'table'")
          .all()
          .map((row) => String(row['name'])),
      );
      const problem = whole ? firstProblem(database, 'pragma quick_check(1)') : null;
      if (problem !== null) return refuse(names, `is damaged (${problem})`);
      return kindOf(database, tables);
    } finally {
      database.close();
    }
  } catch (error) {
    if (error instanceof DataDirError) throw error;
    const message = error instanceof Error ? oneLine(error.message) : String(error);
    throw new DataDirError(`${names.db} is damaged (${message}). ${REMEDY}`, { cause: error });
  }
}

/** A first start that was killed leaves no tables, or tables with nothing in them. */
function kindOf(database: DatabaseSync, tables: ReadonlySet<string>): Inside {
  if (tables.size === 0) return 'unborn';
  if (!tables.has('migration')) return 'foreign';
  if (!tables.has('meta') || !tables.has('job')) return tables.size === 1 ? 'unborn' : 'foreign';
  const row = database.prepare("select value from meta where name = 'identity'").get();
  if (row !== undefined) return { identity: String(row['value']) };
  return database.prepare('select 1 from job limit 1').get() === undefined ? 'unborn' : 'foreign';
}

function firstProblem(database: DatabaseSync, check: string): string | null {
  const said = Object.values(database.prepare(check).get() ?? {}).map(String)[0] ?? 'no answer';
  return said === 'ok' ? null : oneLine(said);
}

function hasLog(names: Names): boolean {
  return (lstatIfThere(`${names.db}-wal`)?.size ?? 0) > 0;
}

function lstatIfThere(file: string): Stats | null {
  // Not stat: a link into nowhere must not look like a data dir without a database.
  return lstatSync(file, { throwIfNoEntry: false }) ?? null;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').slice(0, 200);
}

function refuse(names: Names, what: string): never {
  throw new DataDirError(`${names.db} ${what}. ${REMEDY}`);
}
