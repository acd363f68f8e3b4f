/** How the input of a job lies in its table. */

import { INPUT_FIELDS } from '../../domain/job-input.ts';
import type { JobInput } from '../../domain/job.ts';
import { generatedFunction } from '../../domain/generated-function.ts';
import type { Row, Shape } from './driver.ts';

export const INPUT: Shape = {
  table: 'job_input',
  columns: [['job_no', 'bigint'], ['id', 'text'], ...INPUT_FIELDS.map(({ name }) => [name, 'text'] as const)],
};
export const INPUT_COLUMNS: string = INPUT_FIELDS.map(({ name }) => `input.${name}`).join(', ');
/** How large an input is. Both databases know the length of a text without reading it. */
export const INPUT_BYTES: string = INPUT_FIELDS.map(
  ({ name }) => `coalesce(octet_length(input.${name}), 0)`,
).join(' + ');
export const INPUT_WIDTH: number = INPUT_FIELDS.length;

export const inputRow = generatedFunction(
  ['jobNo', 'id', 'input'],
  `[jobNo, id, ${INPUT_FIELDS.map(({ name, is }) =>
    is === 'texts' ? `input.${name}.length === 0 ? null : JSON.stringify(input.${name})` : `input.${name}`,
  ).join(', ')}]`,
) as (jobNo: number, id: string, input: JobInput) => Row;

/** Reads an input whose first column stands at `at`. */
export const inputFrom = generatedFunction(
  ['row', 'at'],
  `({ ${INPUT_FIELDS.map(({ name, is }, i) => {
    const value = `row[at + ${i}]`;
    return is === 'texts' ? `${name}: ${value} ? JSON.parse(${value}) : []` : `${name}: ${value} ?? null`;
  }).join(', ')} })`,
) as (row: Row, at: number) => JobInput;
