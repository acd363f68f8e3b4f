/** How input and logs and types lie in their tables. */

import type { JobInput } from '../../domain/job.ts';
import type { JobType } from '../store.ts';
import type { Row, Shape } from './driver.ts';

export const INPUT: Shape = {
  table: 'job_input',
  columns: [
    ['job_no', 'bigint'],
    ['id', 'text'],
    ['title', 'text'],
    ['description', 'text'],
    ['spec', 'text'],
    ['meta', 'text'],
    ['params', 'text'],
    ['tags', 'text'],
    ['budget', 'text'],
  ],
};
export const INPUT_COLUMNS: string = INPUT.columns
  .slice(2)
  .map(([name]) => `input.${name}`)
  .join(', ');
/** How large an input is. Both databases know the length of a text without reading it. */
export const INPUT_BYTES: string = ['title', 'description', 'spec', 'meta', 'params', 'tags', 'budget']
  .map((name) => `coalesce(octet_length(input.${name}), 0)`)
  .join(' + ');
export const INPUT_WIDTH: number = INPUT.columns.length - 2;

export function inputRow(jobNo: number, id: string, input: JobInput): Row {
  const tags = input.tags.length === 0 ? null : JSON.stringify(input.tags);
  const { title, description, spec, meta, params, budget } = input;
  return [jobNo, id, title, description, spec, meta, params, tags, budget];
}

/** Reads an input whose first column stands at `at`. */
export function inputFrom(row: Row, at: number): JobInput {
  const tags = row[at + 5] as string | null | undefined;
  return {
    title: (row[at] ?? null) as string | null,
    description: (row[at + 1] ?? null) as string | null,
    spec: (row[at + 2] ?? null) as string | null,
    meta: (row[at + 3] ?? null) as string | null,
    params: (row[at + 4] ?? null) as string | null,
    tags: tags ? (JSON.parse(tags) as string[]) : [],
    budget: (row[at + 6] ?? null) as string | null,
  };
}

export const TYPE_COLUMNS = 'no, name, label, sop, params_schema, active, created_at, updated_at';

export function typeFrom(row: Row): JobType {
  return {
    no: row[0] as number,
    name: row[1] as string,
    label: row[2] as string,
    sop: row[3] as string | null,
    paramsSchema: row[4] as string | null,
    active: row[5] === 1,
    createdAt: row[6] as number,
    updatedAt: row[7] as number,
  };
}
