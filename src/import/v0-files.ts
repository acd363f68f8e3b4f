/** Reads v0's files. What is not a job is said by name, never passed over in silence. */

import { isJsonObject } from '../domain/json-object.ts';
import { lstat, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { type JobComment, type State, STATES } from '../domain/job.ts';
import { type SpineStatus, SPINE_STATUSES, SPINE_STATUS_OF } from '../domain/statuses.ts';

export type Fields = Readonly<Record<string, unknown>>;

/** A job as its files tell it. */
export interface V0Job {
  readonly file: string;
  readonly id: string;
  readonly state: State;
  /** All of the file, for the fields that only some jobs have. */
  readonly fields: Fields;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly result: string | null;
  readonly error: string | null;
  readonly comments: readonly JobComment[];
  /** The lines of its event log. */
  readonly lines: readonly string[];
}

export interface FoundFile {
  readonly name: string;
  readonly createdAt: number;
  readonly no: number;
}

/** All job files, oldest job first. Locks and temp files are v0's scaffolding and no jobs. */
export async function scanJobs(dir: string): Promise<{ found: FoundFile[]; unreadable: string[] }> {
  const found: FoundFile[] = [];
  const unreadable: string[] = [];
  for (const name of await namesIn(path.join(dir, 'jobs'))) {
    if (!name.endsWith('.json')) continue;
    const fields = await readFields(path.join(dir, 'jobs', name));
    const job = typeof fields === 'string' ? fields : shapeProblem(fields);
    if (typeof fields === 'string' || job !== null) unreadable.push(`${name} (${job})`);
    else found.push({ name, createdAt: timeOf(fields['createdAt']) ?? 0, no: wholeOf(fields['no']) ?? 0 });
  }
  found.sort((a, b) => a.createdAt - b.createdAt || a.no - b.no || (a.name < b.name ? -1 : 1));
  return { found, unreadable: unreadable.toSorted((a, b) => (a < b ? -1 : 1)) };
}

/** A reason instead of a job when the file cannot be used. */
export async function readJobFile(dir: string, name: string): Promise<V0Job | string> {
  const fields = await readFields(path.join(dir, 'jobs', name));
  if (typeof fields === 'string') return fields;
  const problem = shapeProblem(fields);
  if (problem !== null) return problem;
  const createdAt = timeOf(fields['createdAt']) ?? 0;
  const stem = name.slice(0, -'.json'.length);
  return {
    file: name,
    id: fields['id'] as string,
    state: stateOf(fields) ?? 'queued',
    fields,
    createdAt,
    updatedAt: timeOf(fields['updatedAt']) ?? createdAt,
    result: jsonOrNull(fields['result']),
    error: jsonOrNull(fields['error']),
    comments: commentsOf(fields['comments'], createdAt),
    lines: await readLines(path.join(dir, 'events', `${stem}.jsonl`)),
  };
}

async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
}

export async function readFields(file: string): Promise<Fields | string> {
  if (!(await lstat(file)).isFile()) return 'not a plain file';
  try {
    const value: unknown = JSON.parse(await readFile(file, 'utf8'));
    return isJsonObject(value) ? value : 'not a job';
  } catch (error) {
    return error instanceof SyntaxError
      ? 'not valid JSON'
      : `cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown'}`;
  }
}

function shapeProblem(fields: Fields): string | null {
  const { id } = fields;
  if (typeof id !== 'string' || id === '' || id.length > 200) return 'not a job: no id';
  if (stateOf(fields) === null) return 'not a job: no status';
  if (timeOf(fields['createdAt']) === null) return 'not a job: no createdAt';
  return null;
}

/** The native state when the file has one that fits its status. */
function stateOf(fields: Fields): State | null {
  const status = SPINE_STATUSES.find((word) => word === fields['status']);
  if (status === undefined) return null;
  const state = STATES.find((word) => word === fields['state']);
  return state !== undefined && SPINE_STATUS_OF[state] === status ? state : V0_STATES[status];
}

const V0_STATES: Readonly<Record<SpineStatus, State>> = {
  queued: 'queued',
  running: 'running',
  done: 'done',
  failed: 'failed',
  dead: 'dead',
};

function commentsOf(value: unknown, fallbackAt: number): JobComment[] {
  if (!Array.isArray(value)) return [];
  return (value as readonly Fields[]).flatMap((comment) => {
    if (typeof comment !== 'object' || comment === null) return [];
    const { t, by, text } = comment;
    return [
      {
        at: timeOf(t) ?? fallbackAt,
        by: textOf(by) ?? 'unknown',
        text: textOf(text) ?? JSON.stringify(text ?? ''),
      },
    ];
  });
}

/** One entry per line that holds anything: the n-th of them is the job's n-th event. */
async function readLines(file: string): Promise<string[]> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  return text.split('\n').filter((line) => line.trim() !== '');
}

export function timeOf(value: unknown): number | null {
  if (typeof value !== 'string' && typeof value !== 'number') return null;
  const ms = typeof value === 'number' ? value : Date.parse(value);
  return Number.isSafeInteger(ms) && ms >= 0 ? ms : null;
}

export function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

export function wholeOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

/** v0 wrote null for "nothing". */
export function jsonOrNull(value: unknown): string | null {
  return value === undefined || value === null ? null : JSON.stringify(value);
}
