/** What a claim reads of a ready job: of a plain one only what is its own. Any other comes whole, as the text of an array. */

import { JOB_FIELDS, type JobField } from '../../domain/job-fields.ts';
import type { Job } from '../../domain/job.ts';
import { readValue } from '../../domain/job-values.ts';
import { generatedFunction } from '../../domain/generated-function.ts';
import { perDialect, type Row } from './driver.ts';
import { PAST_BYTES } from './job-bytes.ts';
import { JOB_COLUMNS, JOB_WIDTH, jobFrom } from './job-row.ts';
import { SAME_IN_PLAIN } from './plain-job.ts';

/** What every statement for ready jobs asks for and so needs not read. */
const ASKED_FOR: Partial<Record<JobField['name'], string>> = { state: '"queued"', target: 'target' };

const read = JOB_FIELDS.filter(
  (field) => !SAME_IN_PLAIN.includes(field) && ASKED_FOR[field.name] === undefined,
);

/** How many columns of a job a claim reads. */
export const READY_WIDTH: number = read.length + 1;

/** The columns to select, in the order that `readyJobFrom` reads them. */
export const readyColumns = perDialect((dialect) => {
  const array = dialect === 'sqlite' ? 'json_array' : 'json_build_array';
  const whole = `cast(${array}(${JOB_COLUMNS}, ${PAST_BYTES}) as text)`;
  const few = read.map(({ column }) => `job.${column}`);
  return [...few, `case when job.plain = 1 then null else ${whole} end`].join(', ');
});

const plainJobFrom = generatedFunction(
  ['row', 'target'],
  `({ ${JOB_FIELDS.map((field) => `${field.name}: ${plainValue(field)}`).join(', ')} })`,
) as (row: Row, target: string) => Job;

function plainValue(field: JobField): string {
  if (SAME_IN_PLAIN.includes(field)) return JSON.stringify(field.default);
  return ASKED_FOR[field.name] ?? readValue(field, `row[${read.indexOf(field)}]`);
}

/** A ready job, and how large its past is: what earlier attempts left, and comments. */
export function readyJobFrom(row: Row, target: string): { job: Job; pastBytes: number } {
  const whole = row[read.length];
  if (typeof whole !== 'string') return { job: plainJobFrom(row, target), pastBytes: 0 };
  const values = JSON.parse(whole) as Row;
  return { job: jobFrom(values), pastBytes: Number(values[JOB_WIDTH]) };
}
