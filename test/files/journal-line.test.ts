import { deepStrictEqual, ok } from 'node:assert';
import { test } from 'node:test';
import { CHANGING } from '../../src/domain/job-changes.ts';
import { parseLine } from '../../src/files/journal-line.ts';
import { EventPrinter, printRow } from '../../src/files/journal-print.ts';
import { allJobs, makeWork, openBench } from './fixture.ts';

test('an event with its row is read back as it was', async () => {
  await using bench = openBench();
  await makeWork(bench);
  const jobs = new Map((await allJobs(bench.store)).map((job) => [job.no, job]));
  const printer = new EventPrinter();
  for (const entry of await bench.store.read.entries({ pos: 0, ordinal: 0 }, 1_000)) {
    const { pos, ordinal, ...event } = entry;
    const job = jobs.get(event.jobNo);
    ok(job);
    const line = { pos, ordinal, event };
    deepStrictEqual(parseLine(printer.print(entry, null)), line);
    const row = Object.fromEntries(CHANGING.map((field) => [field, job[field]]));
    deepStrictEqual(parseLine(printer.print(entry, { row: printRow(job) })), { ...line, job: row });
  }
});

test('a line of an older journal, which has the names of what is in its row, can still be read', () => {
  const event = { jobNo: 7, seq: 2, at: 5, kind: 'job.claimed', by: 'left-claw', facts: null };
  const some = { state: 'running', updatedAt: 5, attempts: 1, leaseToken: 'token', tokenUsed: true, seq: 2 };
  const line = parseLine(JSON.stringify({ pos: 1, ordinal: 1, event, job: some }));
  ok(line && 'pos' in line);
  const { state, leaseToken, tokenUsed, finishedAt, watched, approval } = line.job ?? {};
  deepStrictEqual(
    { state, leaseToken, tokenUsed, finishedAt, watched, approval },
    {
      state: 'running',
      leaseToken: 'token',
      tokenUsed: true,
      finishedAt: null,
      watched: false,
      approval: 'none',
    },
  );
});
