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
    const known = new Set(aliases.map(({ alias }) => alias));
    const around = { aliases: known, nowMs, defaults: defaultsOf(database) };
    const notes = leftIn(database);
    return { kind: 'scheduler', aliases, schedules: walk(database, places, around, unfit), unfit, notes };
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

/** A number or a text; what is computed is no value that a job could be compared with. */
function defaultsOf(database: DatabaseSync): Map<string, unknown> {
  const columns = database.prepare(`select name, dflt_value from pragma_table_info('jobs')`).all();
  const valueIn = (text: string): unknown => {
    const quoted = /^'(.*)'$/s.exec(text)?.[1];
    return quoted === undefined ? Number(text) : quoted.replaceAll("''", "'");
  };
  return new Map(
    columns.flatMap(({ name, dflt_value: text }) =>
      typeof text === 'string' ? [[String(name), valueIn(text)] as const] : [],
    ),
  );
}

/** What is on its way there, or known there, and is not brought along. */
const LEFT: readonly (readonly [table: string, rows: string, which: string])[] = [
  ['messages', 'messages that wait', `where status = 'pending'`],
  ['agents', 'agents', ''],
  ['approvals', 'approvals that wait', `where status = 'pending'`],
  ['runs', 'runs that have not ended', `where status in ('pending', 'running', 'awaiting_approval')`],
  ['job_dispatch_queue', 'runs in its queue', `where status in ('pending', 'claimed', 'awaiting_approval')`],
];

function leftIn(database: DatabaseSync): string[] {
  const counted = LEFT.flatMap(([table, rows, which]) => {
    const columns = columnsOf(database, table);
    if (columns.length === 0 || (which !== '' && !columns.includes('status'))) return [];
    const n = Number(database.prepare(`select count(*) as n from ${table} ${which}`).get()?.['n'] ?? 0);
    return n === 0 ? [] : [`${n.toLocaleString('en')} ${rows}`];
  });
  return counted.length === 0 ? [] : [`not brought along: ${counted.join(', ')}`];
}

function columnsOf(database: DatabaseSync, table: string): unknown[] {
  const columns = database.prepare('select name from pragma_table_info(?)').all(table);
  return columns.map(({ name }) => name);
}
