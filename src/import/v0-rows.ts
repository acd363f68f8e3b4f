/** How a job of the files becomes a row and a history. */

import { isJsonObject } from '../domain/json-object.ts';
import type { EventKind, JobEvent } from '../domain/event.ts';
import { type FieldRule, JOB_FIELDS } from '../domain/job-fields.ts';
import { INPUT_FIELDS } from '../domain/job-input.ts';
import { bareType, LINEAGE_RETRIES } from '../domain/job-type.ts';
import { isFinal, type Job, type JobInput, OPEN, SETTLED } from '../domain/job.ts';
import { newJob, type NewJobRow } from '../domain/new-job.ts';
import type { NewRow, Tx } from '../store/store.ts';
import type { Edge } from './dependencies.ts';
import { type Fields, jsonOrNull, textOf, timeOf, type V0Job, wholeOf } from './v0-files.ts';
import { waitingIn } from './v0-questions.ts';
import { approvalIn } from './v0-scheduling.ts';

export interface Defaults {
  readonly leaseMs: number;
  readonly maxAttempts: number;
}

export interface ImportRow {
  readonly row: NewRow;
  readonly edges: readonly Edge[];
}

/** Everything v0 knew stays, a running job's holder and lease too; v0's clients go on without a lease token. */
export async function rowOf(tx: Tx, job: V0Job, seq: number, defaults: Defaults): Promise<ImportRow> {
  const { fields, state } = job;
  const retry = (fields['retry'] ?? {}) as Fields;
  const ended = isFinal(state);
  const family = await familyOf(tx, job);
  const attempts = wholeOf(fields['attempts']) ?? 0;
  const typeNo = await typeOf(tx, fields, job.createdAt);
  const uniqueKey = await freeKey(tx, typeNo, textOf(fields['uniqueKey']), ended);
  const row = newJob({
    target: 'left-claw',
    createdBy: 'head',
    runAt: job.createdAt,
    ...defaults,
    ...toldBy(fields),
    id: job.id,
    typeNo,
    createdAt: job.createdAt,
    retryMode: retry['mode'] === 'lineage' ? 'lineage' : 'requeue',
    retryMax: wholeOf(retry['max']) ?? LINEAGE_RETRIES,
    backoffMs: wholeOf(retry['backoffMs']),
    retryCount: wholeOf(retry['count']) ?? 0,
    retryOf: family.retryOf?.no ?? null,
    rootNo: family.retryOf === null ? null : (family.retryOf.rootNo ?? family.retryOf.no),
    parentNo: family.parent?.no ?? null,
    uniqueKey,
    ...waitingIn(fields, state),
    updatedAt: job.updatedAt,
    attempts,
    fence: Math.max(attempts, job.lines.filter((line) => line.includes('"job.claimed"')).length),
    leaseUntil: state === 'running' ? (timeOf(fields['leaseUntil']) ?? job.updatedAt) : null,
    timeoutAt: state === 'running' ? timeOf(fields['timeoutAt']) : null,
    settled: ended ? SETTLED : OPEN,
    finishedAt: ended ? (timeOf(fields['finishedAt']) ?? job.updatedAt) : null,
    reason: textOf(fields['releaseReason']) ?? jsonOrNull(fields['releaseReason']),
    seq,
    priority: typeof fields['priority'] === 'number' ? Math.trunc(fields['priority']) : 0,
    // Counted once all dependencies are known.
    waitingFor: 0,
    comments: job.comments.length,
    approval: approvalIn(fields),
  });
  return { row: { job: row, input: inputIn(fields) }, edges: family.edges };
}

/** What the file says of the row under the row's own names, as far as it can be read. */
function toldBy(fields: Fields): Partial<NewJobRow> {
  const told = JOB_FIELDS.flatMap(({ name, is, shown }) => {
    const value = shown === undefined ? null : readAs(is, fields[name]);
    return value === null ? [] : [[name, value]];
  });
  return Object.fromEntries(told) as Partial<NewJobRow>;
}

function readAs(is: FieldRule['is'], value: unknown): string | number | boolean | null {
  switch (is) {
    case 'text':
      return textOf(value);
    case 'json':
      return jsonOrNull(value);
    case 'texts':
      return Array.isArray(value) ? JSON.stringify(textsOf(value)) : null;
    case 'time':
      return timeOf(value);
    case 'flag':
      return value === true;
    case 'whole':
      return wholeOf(value);
    default:
      return is.find((word) => word === value) ?? null;
  }
}

function inputIn(fields: Fields): JobInput {
  const read = INPUT_FIELDS.map(({ name, is }) => [
    name,
    is === 'texts' ? textsOf(fields[name]) : readAs(is, fields[name]),
  ]);
  return Object.fromEntries(read) as JobInput;
}

function textsOf(value: unknown): string[] {
  if (!Array.isArray(value)) return [];
  return [...new Set(value.filter((text): text is string => typeof text === 'string'))];
}

async function typeOf(tx: Tx, fields: Fields, at: number): Promise<number> {
  const name = textOf(fields['type']);
  return name === null ? 0 : (await tx.types.save(bareType(name), at)).no;
}

/** Two open jobs of one type cannot have one key; files that lag may say so. */
async function freeKey(tx: Tx, typeNo: number, key: string | null, ended: boolean): Promise<string | null> {
  if (key === null || ended) return key;
  return (await tx.jobs.findUnique(typeNo, key)) === null ? key : null;
}

interface Family {
  readonly retryOf: Job | null;
  readonly parent: Job | null;
  readonly edges: readonly Edge[];
}

/** The jobs that this one names: they are older, so they are in the database by now. */
async function familyOf(tx: Tx, { fields }: V0Job): Promise<Family> {
  const retryOf = textOf(fields['retryOf']);
  const parentId = textOf(fields['parentId']);
  const after = Array.isArray(fields['after']) ? (fields['after'] as readonly Fields[]) : [];
  const ids = [retryOf, parentId, ...after.map(({ id }) => textOf(id))].filter((id) => id !== null);
  const known = new Map(ids.length === 0 ? [] : (await tx.jobs.lock(ids)).map((job) => [job.id, job]));
  const edges = after.flatMap(({ id, on }): Edge[] => {
    const parent = known.get(String(id));
    return parent === undefined
      ? []
      : [{ parentNo: parent.no, on: on === 'failure' || on === 'complete' ? on : 'success' }];
  });
  return { retryOf: known.get(retryOf ?? '') ?? null, parent: known.get(parentId ?? '') ?? null, edges };
}

/** The log's lines in their order, then the import itself. Kinds that Spine does not know stay as they are. */
export function eventsOf(job: V0Job, now: number): Omit<JobEvent, 'jobNo'>[] {
  const events = job.lines.map((line, i) => eventFrom(line, i + 1, job.createdAt));
  const facts = { from: job.file, status: job.fields['status'], ...extraFacts(job.fields) };
  return [...events, { seq: events.length + 1, at: now, kind: 'job.imported', by: 'system', facts }];
}

function eventFrom(line: string, seq: number, fallbackAt: number): Omit<JobEvent, 'jobNo'> {
  const fields = parseLine(line);
  if (fields === null)
    return { seq, at: fallbackAt, kind: 'job.unreadable' as EventKind, by: 'unknown', facts: { line } };
  const { t, type, by, seq: _seq, facts, ...rest } = fields;
  const at = timeOf(t);
  const all = {
    ...rest,
    ...(typeof facts === 'object' ? facts : {}),
    ...(at === null && t !== undefined && { time: t }),
  };
  return {
    seq,
    at: at ?? fallbackAt,
    // Kinds of other versions are kept: the column is text, and readers show what they do not know.
    kind: (textOf(type) ?? 'job.unknown') as EventKind,
    by: textOf(by) ?? 'unknown',
    facts: Object.keys(all).length === 0 ? null : all,
  };
}

function parseLine(line: string): Fields | null {
  try {
    const value: unknown = JSON.parse(line);
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}

const BESIDE_ROW = [
  'status',
  'comments',
  'result',
  'error',
  'releaseReason',
  'type',
  'retry',
  'retryOf',
  'parentId',
  'run',
  'after',
  'asked',
  'checkpoint',
];
const KNOWN = new Set([
  ...JOB_FIELDS.flatMap(({ name, shown }) => (shown === undefined ? [] : [name as string])),
  ...INPUT_FIELDS.map(({ name }) => name),
  ...BESIDE_ROW,
]);

/** Fields that Spine has no place for are kept with the import's event. */
function extraFacts(fields: Fields): { extra?: Fields } {
  const extra = Object.fromEntries(Object.entries(fields).filter(([name]) => !KNOWN.has(name)));
  return Object.keys(extra).length > 0 ? { extra } : {};
}
