import { deepStrictEqual, ok } from 'node:assert';
import { test } from 'node:test';
import { CHANGING } from '../../src/domain/job-fields.ts';
import { parseLine } from '../../src/files/journal-line.ts';
import { EventPrinter, printRow } from '../../src/files/journal-print.ts';
import { allJobs, makeWork, openBench } from './fixture.ts';

test('an event with its row is read back as it was', async () => {
  await using bench = openBench();
  await makeWork(bench);
  const jobs = new Map((await allJobs(bench.store)).map((job) => [job.no, job]));
  const printer = new EventPrinter();
  for (const entry of await bench.store.read.feed.entries({ pos: 0, ordinal: 0 }, 1_000)) {
    const { pos, ordinal, ...event } = entry;
    const job = jobs.get(event.jobNo);
    ok(job);
    const line = { pos, ordinal, event };
    deepStrictEqual(parseLine(printer.print(entry, null)), line);
    const row = Object.fromEntries(CHANGING.map(({ name }) => [name, job[name]]));
    deepStrictEqual(parseLine(printer.print(entry, { row: printRow(job) })), { ...line, job: row });
  }
});

test('a row that was written before its last field was known has the default of that field', async () => {
  await using bench = openBench();
  await makeWork(bench);
  const [entry] = await bench.store.read.feed.entries({ pos: 0, ordinal: 0 }, 1);
  const [job] = await allJobs(bench.store);
  ok(entry && job);
  const last = CHANGING.at(-1);
  ok(last);
  const shorter = JSON.stringify(
    (JSON.parse(printRow({ ...job, cause: 'stale' })) as unknown[]).slice(0, -1),
  );
  const line = parseLine(new EventPrinter().print(entry, { row: shorter }));
  ok(line && 'pos' in line);
  deepStrictEqual(line.job?.[last.name], last.default);
});
