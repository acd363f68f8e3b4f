/** The database of the scheduler whose text this one follows. It is read and never written. */

import { existsSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { usage } from '../failure.ts';
import type { Foreign, ForeignAlias, Source, Unfit } from './foreign.ts';
import { type Around, scheduleOf, type SchedulerJob } from './scheduler-job.ts';

/** Of each only its name is in memory at a time; no server keeps as many schedules. */
const JOBS = 100_000;
const ALIASES = 10_000;

/** What a job is called and what starts it: enough to find the order. */
interface Place {
  readonly id: string;
  readonly parentId: string | null;
}

export async function readSchedulerDatabase(file: string, nowMs: number): Promise<Source> {
  const { DatabaseSync } = await import('node:sqlite');
  const url = pathToFileURL(file);
  // Without a log beside it nobody has it open: then not even a lock is taken. With one the newest jobs stand there.
  if (!existsSync(`${file}-wal`)) url.searchParams.set('immutable', '1');
  const database = new DatabaseSync(url, { readOnly: true });
  try {
    // What its program writes meanwhile is not seen, so that every job has the parent it had.
    database.exec('begin');
    const places = placesOf(database, file);
    const aliases = aliasesOf(database);
    const unfit: Unfit[] = [];
    const around = { aliases: new Set(aliases.map(({ alias }) => alias)), nowMs };
    return { kind: 'scheduler', aliases, schedules: walk(database, places, around, unfit), unfit };
  } catch (error) {
    database.close();
    throw error;
  }
}

function placesOf(database: DatabaseSync, file: string): Place[] {
  const columns = columnsOf(database, 'jobs');
  if (!['id', 'name', 'schedule_cron', 'payload_message'].every((name) => columns.includes(name)))
    throw usage(`${file} is an SQLite database, but not that of a scheduler: it has no such table jobs.`);
  const parent = columns.includes('parent_id') ? 'parent_id' : 'null';
  const order = columns.includes('created_at') ? 'created_at, id' : 'id';
  const rows = database.prepare(`select id, ${parent} as parent_id from jobs order by ${order} limit ?`);
  const places = rows.all(JOBS + 1).map(({ id, parent_id: parentId }) => ({
    id: String(id),
    parentId: typeof parentId === 'string' && parentId !== '' ? parentId : null,
  }));
  if (places.length > JOBS)
    throw usage(
      `${file} holds more than ${JOBS} jobs, which no server keeps.`,
      'Delete those that are over from a copy of it, and import the copy.',
    );
  return parentsFirst(places);
}

/** Those whose parent is missing, or that stand in a circle, come last. */
function parentsFirst(places: readonly Place[]): Place[] {
  const childrenOf = Map.groupBy(places, ({ parentId }) => parentId);
  const placed = [...(childrenOf.get(null) ?? [])];
  for (const { id } of placed) placed.push(...(childrenOf.get(id) ?? []));
  const seen = new Set(placed);
  return [...placed, ...places.filter((each) => !seen.has(each))];
}

function* walk(
  database: DatabaseSync,
  places: readonly Place[],
  around: Around,
  unfit: Unfit[],
): Generator<Foreign> {
  try {
    const one = database.prepare('select * from jobs where id = ?');
    for (const { id, parentId } of places) {
      const read = scheduleOf(one.get(id) as SchedulerJob, parentId, around);
      if ('reason' in read) unfit.push(read);
      else yield read;
    }
  } finally {
    database.close();
  }
}

/** The first schemas had none. */
function aliasesOf(database: DatabaseSync): ForeignAlias[] {
  if (!columnsOf(database, 'delivery_aliases').includes('target')) return [];
  const rows = database.prepare('select * from delivery_aliases order by alias limit ?').all(ALIASES);
  return rows.map((row) => ({
    alias: String(row['alias']),
    channel: String(row['channel']),
    target: String(row['target']),
    description: typeof row['description'] === 'string' ? row['description'] : null,
  }));
}

function columnsOf(database: DatabaseSync, table: string): unknown[] {
  const columns = database.prepare('select name from pragma_table_info(?)').all(table);
  return columns.map(({ name }) => name);
}
