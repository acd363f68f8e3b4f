/** How the values of a job are stored, in rows and in the journal: as they are, flags as 0 and 1. */

import type { JobField, JobRow } from './job-fields.ts';
import { generatedFunction } from './generated-function.ts';

type Stored = string | number | null;

/** Makes a function that takes these fields out of a job, in their order. */
export function storedValues(fields: readonly JobField[]): (job: Partial<JobRow>) => Stored[] {
  const values = fields.map(({ name, is }) => (is === 'flag' ? `job.${name} ? 1 : 0` : `job.${name}`));
  return generatedFunction(['job'], `[${values.join(', ')}]`) as (job: Partial<JobRow>) => Stored[];
}

/** The text of an expression that reads a stored value. */
export function readValue({ is }: JobField, stored: string): string {
  return is === 'flag' ? `${stored} === 1` : stored;
}
