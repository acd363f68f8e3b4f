/** How a job lies in its row: three groups of columns, by how often they change. */

import { JOB_FIELDS, type JobField, type LeaseWrite } from '../../domain/job-fields.ts';
import type { Job } from '../../domain/job.ts';
import { readValue, storedValues } from '../../domain/job-values.ts';
import { generatedFunction } from '../../domain/generated-function.ts';
import { type ColumnType, perDialect, type Row, type Shape } from './driver.ts';
import { commitKey } from './commit-key.ts';
import { isPlain, PLAIN_VALUES, SAME_IN_PLAIN, sqlLiteral } from './plain-job.ts';

type Print<J = Job> = (job: J) => Row;

const KEY = JOB_FIELDS.filter(({ group }) => group === 'key');
const MADE = JOB_FIELDS.filter(({ group }) => group !== 'key');
const OWN = MADE.filter((field) => !SAME_IN_PLAIN.includes(field));
const LEASE = JOB_FIELDS.filter(({ group }) => group === 'lease');
const RARE = JOB_FIELDS.filter(({ group }) => group === 'rare');

/** A claim and the end of a lease write only what they change, and their change says which it is. */
const brought = (write: LeaseWrite) => JOB_FIELDS.filter(({ writtenBy }) => writtenBy?.includes(write));

/** What it always leaves, as SQL. */
function left(write: LeaseWrite): string[] {
  return JOB_FIELDS.flatMap(({ column, default: usual, clearedBy, atEnd }) => {
    if (write === 'end' && atEnd !== undefined) return [`${column} = ${columnNamed(atEnd)}`];
    return clearedBy?.includes(write) ? [`${column} = ${sqlLiteral(usual)}`] : [];
  });
}

function columnNamed(name: string): string | undefined {
  return JOB_FIELDS.find((field) => field.name === name)?.column;
}

/** A job that has changed is no plain one any more. */
const CHANGED = 'plain = 0';

export const JOB_RAW: Shape = { table: 'job', columns: JOB_FIELDS.map(columnOf) };
export const JOB_RARELY: Shape = {
  table: 'job',
  columns: [...KEY, ...RARE].map(columnOf),
  derived: CHANGED,
};

/** The shapes in which a row changes. Each names the commit that tells what happened. */
export const jobShapes = perDialect((dialect) => {
  const key = commitKey({ dialect });
  const shape = (fields: readonly JobField[], leaves: readonly string[] = []): Shape => ({
    table: 'job',
    columns: [...KEY, ...fields].map(columnOf),
    derived: [...leaves, CHANGED, `commits = job.commits || ${key}`].join(', '),
  });
  return {
    insert: {
      table: 'job',
      columns: [...MADE.map(columnOf), ['plain', 'smallint']],
      given: [['commits', key]],
    } satisfies Shape,
    insertPlain: {
      table: 'job',
      columns: OWN.map(columnOf),
      given: [['commits', key], ['plain', '1'], ...PLAIN_VALUES],
    } satisfies Shape,
    often: shape(LEASE),
    claim: shape(brought('claim'), left('claim')),
    ending: shape(brought('end'), left('end')),
  };
});

/** The columns to select, in the order that `jobFrom` reads them. */
export const JOB_COLUMNS: string = JOB_FIELDS.map(({ column }) => `job.${column}`).join(', ');
export const JOB_WIDTH: number = JOB_FIELDS.length;

export const jobFrom = generatedFunction(
  ['row'],
  `({ ${JOB_FIELDS.map((field, at) => `${field.name}: ${readValue(field, `row[${at}]`)}`).join(', ')} })`,
) as (row: Row) => Job;

const madeRow: Print<Omit<Job, 'no'>> = storedValues(MADE);
export const insertRow: Print<Omit<Job, 'no'>> = (job) => [...madeRow(job), isPlain(job) ? 1 : 0];
export const insertPlainRow: Print<Omit<Job, 'no'>> = storedValues(OWN);
export const rawRow: Print = storedValues(JOB_FIELDS);
export const oftenRow: Print = storedValues([...KEY, ...LEASE]);
export const rarelyRow: Print = storedValues([...KEY, ...RARE]);
export const claimRow: Print = storedValues([...KEY, ...brought('claim')]);
export const endingRow: Print = storedValues([...KEY, ...brought('end')]);

/** Whether the second statement is needed at all. */
export const rarelyChanged = generatedFunction(
  ['before', 'after'],
  RARE.map(({ name }) => `before.${name} !== after.${name}`).join(' || '),
) as (before: Job, after: Job) => boolean;

function columnOf({ column, is }: JobField): [column: string, type: ColumnType] {
  if (is === 'text' || is === 'texts' || is === 'json') return [column, 'text'];
  if (is === 'flag') return [column, 'smallint'];
  if (is === 'whole' || is === 'time') return [column, 'bigint'];
  return [column, typeof is[0] === 'number' ? 'smallint' : 'text'];
}
