/**
 * Runs the test files that it is given, in that order: `node --test` sorts them by their names, so that at the end
 * processors wait for one long file that began late. `scripts/test.ts` starts this with what the tests need.
 */
import { createWriteStream } from 'node:fs';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { filesAtOnce, TEST_LIMIT_MS } from './durations.ts';
import report from './results-reporter.ts';
import { RESULTS_FILE } from './results.ts';

const events = run({
  files: process.argv.slice(2),
  concurrency: filesAtOnce(),
  timeout: TEST_LIMIT_MS,
});
events.on('test:fail', ({ todo }) => {
  if (todo === undefined) process.exitCode = 1;
});
events.compose(report).pipe(createWriteStream(RESULTS_FILE));
events.pipe(new spec()).pipe(process.stdout);
