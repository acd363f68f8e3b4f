import { deepStrictEqual, strictEqual } from 'node:assert';
import { test } from 'node:test';
import { type Job } from '../../src/domain/job.ts';
import { CHANGING, JOB_FIELDS, DRAFT_FIELDS } from '../../src/domain/job-fields.ts';
import { storedValues } from '../../src/domain/job-values.ts';
import { newJob, draftedRow } from '../../src/domain/new-job.ts';
import { generatedFunction } from '../../src/domain/generated-function.ts';
import { EXTREME, row } from '../conformance/rows.ts';

const PLAIN: Job = { no: 1, ...row().job };
const ODD: Job = { no: 2, id: 'a "job"', ...EXTREME };

test('a function made from a table takes its parameters in their order and sees nothing else', () => {
  strictEqual((generatedFunction(['a', 'b'], 'a - b') as (a: number, b: number) => number)(5, 3), 2);
  strictEqual((generatedFunction([], 'typeof PLAIN') as () => string)(), 'undefined');
});

test('values are taken out of a job as a walk through the table would take them', () => {
  for (const fields of [JOB_FIELDS, CHANGING, []])
    for (const job of [PLAIN, ODD])
      deepStrictEqual(
        storedValues(fields)(job),
        fields.map(({ name, is }) => (is === 'flag' ? Number(job[name]) : job[name])),
      );
});

test('a row is made as a walk through the table would make it', () => {
  const { no: _, ...said } = ODD;
  deepStrictEqual(newJob(said), said);
  const required = JOB_FIELDS.filter((field) => field.group !== 'key' && field.default === undefined);
  const own = Object.fromEntries(required.map(({ name }) => [name, ODD[name]]));
  const walked = JOB_FIELDS.filter(({ group }) => group !== 'key').map((field) => [
    field.name,
    field.default === undefined ? ODD[field.name] : field.default,
  ]);
  // The table says that these are all that must be said.
  deepStrictEqual(newJob(own as unknown as Parameters<typeof newJob>[0]), Object.fromEntries(walked));
});

test('what a caller leaves out has the default of the table, and what he says stays as it is', () => {
  const usual = DRAFT_FIELDS.flatMap(({ name, default: value }) =>
    value === undefined ? [] : [[name, value]],
  );
  deepStrictEqual(draftedRow({}), Object.fromEntries(usual));
  deepStrictEqual(draftedRow({ priority: 7 }), { ...draftedRow({}), priority: 7 });
});
