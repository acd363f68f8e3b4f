/**
 * Most jobs are plain: nobody has held them yet, and they ask for nothing special. A row has more than sixty values, and
 * each of them takes time to write and to read. Of a plain one only those are written and read in which plain jobs
 * differ, and its row says that it is one until its first change. To write and read whole rows takes 9 % more processor time
 * for a job that is made and done in process (`embedded-drain`), side by side on a shared 2-core machine.
 */

import { JOB_FIELDS, type JobField } from '../../domain/job-fields.ts';
import type { Job } from '../../domain/job.ts';
import { generatedFunction } from '../../domain/generated-function.ts';

/** In these all plain jobs have the default. */
export const SAME_IN_PLAIN: readonly JobField[] = JOB_FIELDS.filter(
  (field) => field.default !== undefined && !field.differs,
);

export const isPlain = generatedFunction(
  ['job'],
  SAME_IN_PLAIN.map((field) => `job.${field.name} === ${JSON.stringify(field.default)}`).join(' && '),
) as (job: Omit<Job, 'no'>) => boolean;

/** What the row of a plain job has in these columns, as SQL. Null is what a row has that says nothing. */
export const PLAIN_VALUES: readonly (readonly [column: string, sql: string])[] = SAME_IN_PLAIN.flatMap(
  (field) => (field.default === null ? [] : [[field.column, sqlLiteral(field.default)] as const]),
);

/** A default as it is written in a statement. */
export function sqlLiteral(value: JobField['default']): string {
  if (value === null) return 'null';
  return typeof value === 'string' ? `'${value}'` : String(Number(value));
}
