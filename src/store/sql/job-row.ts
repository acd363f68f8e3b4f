/** How a job lies in its row: three groups of columns, by how often they change. */

import { JOB_FIELDS, type JobField } from '../../domain/job-fields.ts';
import type { Job } from '../../domain/job.ts';
import { readValue, storedValues } from '../../domain/job-values.ts';
import { generatedFunction } from '../../domain/generated-function.ts';
import { type ColumnType, perDialect, type Row, type Shape } from './driver.ts';
import { commitKey } from './commit-key.ts';
import { isPlain, PLAIN_VALUES, SAME_IN_PLAIN } from './plain-job.ts';

type Name = JobField['name'];
type Print<J = Job> = (job: J) => Row;

const KEY = JOB_FIELDS.filter(({ group }) => group === 'key');
const MADE = JOB_FIELDS.filter(({ group }) => group !== 'key');
const OWN = MADE.filter((field) => !SAME_IN_PLAIN.includes(field));
const LEASE = JOB_FIELDS.filter(({ group }) => group === 'lease');
const RARE = JOB_FIELDS.filter(({ group }) => group === 'rare');

/** A write of the lease's columns that happens so often that it has a statement of its own. */
interface LeaseWrite {
  /** What it brings; what is in neither of the two it leaves alone. */
  readonly writes: readonly Name[];
  /** What it always leaves, as SQL. */
  readonly leaves: readonly (readonly [name: Name, sql: string])[];
}

/** A claim and the end of a lease are most of all work: each writes only what it changes, and its change says that it is one. */
const CLAIM: LeaseWrite = {
  writes: [
    'state',
    'updatedAt',
    'attempts',
    'fence',
    'leaseToken',
    'leaseUntil',
    'leasePolicy',
    'leaseSpanMs',
    'claimedBy',
    'claimId',
    'timeoutAt',
    'startedAt',
    'seq',
  ],
  leaves: [
    ['tokenUsed', '0'],
    ['progress', 'null'],
  ],
};
/** A holder that finishes its job. The row has the token already that is kept as the one that ended. */
const ENDING: LeaseWrite = {
  writes: [
    'state',
    'updatedAt',
    'attempts',
    'endedVerb',
    'endedState',
    'settled',
    'finishedAt',
    'reason',
    'seq',
  ],
  leaves: [
    ['endedToken', 'lease_token'],
    ['leaseToken', 'null'],
    ['leaseUntil', 'null'],
    ['leaseSpanMs', 'null'],
    ['claimId', 'null'],
    ['tokenUsed', '0'],
    ['timeoutAt', 'null'],
  ],
};

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
  const shape = (fields: readonly JobField[], leaves: LeaseWrite['leaves'] = []): Shape => {
    const set = leaves.map(
      ([name, sql]) =>
        `${named([name])
          .map(({ column }) => column)
          .join()} = ${sql}`,
    );
    return {
      table: 'job',
      columns: [...KEY, ...fields].map(columnOf),
      derived: [...set, CHANGED, `commits = job.commits || ${key}`].join(', '),
    };
  };
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
    claim: shape(named(CLAIM.writes), CLAIM.leaves),
    ending: shape(named(ENDING.writes), ENDING.leaves),
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
export const claimRow: Print = storedValues([...KEY, ...named(CLAIM.writes)]);
export const endingRow: Print = storedValues([...KEY, ...named(ENDING.writes)]);

/** Whether the second statement is needed at all. */
export const rarelyChanged = generatedFunction(
  ['before', 'after'],
  RARE.map(({ name }) => `before.${name} !== after.${name}`).join(' || '),
) as (before: Job, after: Job) => boolean;

function named(names: readonly Name[]): JobField[] {
  return JOB_FIELDS.filter(({ name }) => names.includes(name));
}

function columnOf({ column, is }: JobField): [column: string, type: ColumnType] {
  if (is === 'text' || is === 'texts' || is === 'json') return [column, 'text'];
  if (is === 'flag') return [column, 'smallint'];
  if (is === 'whole' || is === 'time') return [column, 'bigint'];
  return [column, typeof is[0] === 'number' ? 'smallint' : 'text'];
}
