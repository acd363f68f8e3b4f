/**
 * What a claim reads of a ready job. Most jobs are plain: nobody has held them yet, and they ask for nothing special.
 * A row has fifty values, and each of them takes time to fetch: of a plain one only those are read in which plain jobs
 * differ. Any other comes whole, as the text of an array. To read whole rows takes 15 % more processor time for a job
 * when SQLite is drained in batches, 13 % more one by one (`embedded-drain`), side by side on a shared 2-core machine.
 */

import { JOB_FIELDS, type JobField } from '../../domain/job-fields.ts';
import type { Job } from '../../domain/job.ts';
import { readValue } from '../../domain/job-values.ts';
import { generatedFunction } from '../../domain/generated-function.ts';
import { perDialect, type Row } from './driver.ts';
import { PAST_BYTES } from './job-bytes.ts';
import { JOB_COLUMNS, JOB_WIDTH, jobFrom } from './job-row.ts';

/** What every statement for ready jobs asks for and so needs not read. */
const ASKED_FOR: Partial<Record<JobField['name'], string>> = { state: '"queued"', target: 'target' };

const plain = JOB_FIELDS.filter((field) => field.default !== undefined && !field.differs);
const read = JOB_FIELDS.filter((field) => !plain.includes(field) && ASKED_FOR[field.name] === undefined);

/** How many columns of a job a claim reads. */
export const READY_WIDTH: number = read.length + 1;

/** The columns to select, in the order that `readyJobFrom` reads them. */
export const readyColumns = perDialect((dialect) => {
  const array = dialect === 'sqlite' ? 'json_array' : 'json_build_array';
  const whole = `cast(${array}(${JOB_COLUMNS}, ${PAST_BYTES}) as text)`;
  const few = read.map(({ column }) => `job.${column}`);
  return [...few, `case when ${isPlain()} then null else ${whole} end`].join(', ');
});

/** No count is below zero, so that those whose sum is zero all are. */
function isPlain(): string {
  const named = (has: (field: JobField) => boolean): string[] =>
    plain.filter(has).map(({ column }) => `job.${column}`);
  const isNumber = ({ is }: JobField): boolean => is === 'whole' || is === 'time';
  const words = plain.filter((field) => typeof field.default === 'string');
  return [
    `${named((field) => field.default === 0 || field.default === false).join(' + ')} = 0`,
    `coalesce(${named((field) => field.default === null && isNumber(field)).join(', ')}) is null`,
    `coalesce(${named((field) => field.default === null && !isNumber(field)).join(', ')}) is null`,
    ...words.map((field) => `job.${field.column} = '${String(field.default)}'`),
  ].join(' and ');
}

const plainJobFrom = generatedFunction(
  ['row', 'target'],
  `({ ${JOB_FIELDS.map((field) => `${field.name}: ${plainValue(field)}`).join(', ')} })`,
) as (row: Row, target: string) => Job;

function plainValue(field: JobField): string {
  if (plain.includes(field)) return JSON.stringify(field.default);
  return ASKED_FOR[field.name] ?? readValue(field, `row[${read.indexOf(field)}]`);
}

/** A ready job, and how large its past is: what earlier attempts left, and comments. */
export function readyJobFrom(row: Row, target: string): { job: Job; pastBytes: number } {
  const whole = row[read.length];
  if (typeof whole !== 'string') return { job: plainJobFrom(row, target), pastBytes: 0 };
  const values = JSON.parse(whole) as Row;
  return { job: jobFrom(values), pastBytes: Number(values[JOB_WIDTH]) };
}
