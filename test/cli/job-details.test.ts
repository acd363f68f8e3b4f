import { notDeepStrictEqual } from 'node:assert';
import { test } from 'node:test';
import type { Job } from '../../src/client/index.ts';
import { jobDetails } from '../../src/cli/commands/job-details.ts';
import { JOB_SHOWN, type ShownField } from '../../src/cli/job-options.ts';

const NOW = Date.UTC(2026, 0, 1);
/** Said by another: the state says more than the status, and the reason is the same. */
const SAID_BY_ANOTHER = ['status', 'releaseReason'];

test('a job is shown with every field that it has', () => {
  const seen = JOB_SHOWN.filter(({ field }) => !SAID_BY_ANOTHER.includes(field));
  for (const { field } of seen)
    notDeepStrictEqual(jobDetails(jobWith(field), NOW), jobDetails(jobWith(), NOW), field);
});

/** Every field has a value; the named one has another. */
function jobWith(other?: string): Job {
  const values = JOB_SHOWN.map((shown) => [shown.field, valueOf(shown, shown.field === other ? 2 : 1)]);
  // Made from the list of all its fields.
  return Object.fromEntries(values) as Job;
}

const LISTS = ['tags', 'requires'];

function valueOf({ field, is }: ShownField, n: number): unknown {
  if (is === 'time') return new Date(NOW + n * 3_600_000).toISOString();
  if (is === 'duration') return n * 1_000;
  if (field === 'state') return n === 1 ? 'queued' : 'running';
  if (field === 'cancelRequested') return n === 1;
  if (field === 'comments') return [{ t: new Date(NOW).toISOString(), by: 'head', text: `the ${n}` }];
  if (field === 'retry') return { mode: 'requeue', max: n, backoffMs: null, count: 0 };
  return LISTS.includes(field) ? [`${field} ${n}`] : `${field} ${n}`;
}
