/**
 * What a claim reads of a ready job. Most jobs are plain: nobody has held them yet, and they ask for nothing special.
 * A row has fifty values, and each of them takes time to fetch: of a plain one only those are read in which plain jobs
 * differ. Any other comes whole, as the text of an array.
 */

import { type Job, UNASKED, UNTOUCHED } from '../../domain/job.ts';
import { perDialect, type Row, type Value } from './driver.ts';
import { PAST_BYTES } from './details.ts';
import { columnOf, JOB_RAW, JOB_WIDTH, jobFrom } from './job-row.ts';

/** What is the same in all plain jobs. */
const PLAIN = {
  ...UNTOUCHED,
  ...UNASKED,
  retryCount: 0,
  waitingFor: 0,
  watched: false,
  approval: 'none',
} as const satisfies Partial<Job>;

/** What every statement for ready jobs asks for and so needs not read. */
const STATE = 'state';
const TARGET = 'target';

const plain = new Map(Object.entries(PLAIN).map(([field, value]) => [columnOf(field), stored(value)]));
const read = JOB_RAW.columns.filter(([name]) => !plain.has(name) && name !== STATE && name !== TARGET);

/** How many columns of a job a claim reads. */
export const READY_WIDTH: number = read.length + 1;

/** The columns to select, in the order that `readyJobFrom` reads them. */
export const readyColumns = perDialect((dialect) => {
  const array = dialect === 'sqlite' ? 'json_array' : 'json_build_array';
  const all = [...JOB_RAW.columns.map(([name]) => `job.${name}`), PAST_BYTES];
  const whole = `cast(${array}(${all.join(', ')}) as text)`;
  const few = read.map(([name]) => `job.${name}`);
  return [...few, `case when ${isPlain()} then null else ${whole} end`].join(', ');
});

/** No count is below zero, so that those whose sum is zero all are. */
function isPlain(): string {
  const columns = JOB_RAW.columns.map(([name, type]) => ({
    name: `job.${name}`,
    type,
    value: plain.get(name),
  }));
  const named = (has: (column: (typeof columns)[number]) => boolean): string[] =>
    columns.filter(has).map(({ name }) => name);
  const words = columns.filter(({ value }) => typeof value === 'string');
  return [
    `${named(({ value }) => value === 0).join(' + ')} = 0`,
    `coalesce(${named(({ value, type }) => value === null && type === 'bigint').join(', ')}) is null`,
    `coalesce(${named(({ value, type }) => value === null && type === 'text').join(', ')}) is null`,
    ...words.map(({ name, value }) => `${name} = '${value}'`),
  ].join(' and ');
}

const places = read.map(([name]) => placeOf(name));
const wholePlace = read.length;
const targetPlace = placeOf(TARGET);
const plainRow: Row = JOB_RAW.columns.map(([name]) =>
  name === STATE ? 'queued' : (plain.get(name) ?? null),
);

/** A ready job, and how large its past is: what earlier attempts left, and comments. */
export function readyJobFrom(row: Row, target: string): { job: Job; pastBytes: number } {
  const whole = row[wholePlace];
  if (typeof whole === 'string') {
    const values = JSON.parse(whole) as Row;
    return { job: jobFrom(values), pastBytes: Number(values[JOB_WIDTH]) };
  }
  const values = plainRow.slice();
  values[targetPlace] = target;
  for (let i = 0; i < places.length; i++) values[places[i] as number] = row[i] as Value;
  return { job: jobFrom(values), pastBytes: 0 };
}

function placeOf(column: string): number {
  return JOB_RAW.columns.findIndex(([name]) => name === column);
}

function stored(value: Value | boolean): Value {
  return typeof value === 'boolean' ? Number(value) : value;
}
