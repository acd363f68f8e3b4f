/** Waiting, steering and defaults that protect. */

import type { Mutant } from '../mutant.ts';

export const STEERING: readonly Mutant[] = [
  {
    name: 'stale-job-handed-out',
    means: 'a worker does what was wanted by noon, in the afternoon',
    file: 'src/domain/decide.ts',
    find: `if (hasLapsed(job, now)) return tooLate`,
    replace: `if (hasLapsed(job, 0)) return tooLate`,
    seenBy: ['test/conformance/sqlite-memory.test.ts'],
  },
  {
    name: 'late-job-keeps-its-slot',
    means: 'a pool has one slot less for ever each time that a job in it came too late',
    file: 'src/engine/claim-batch.ts',
    find: `&& !hasLapsed(job, this.#changeSet.now);`,
    replace: `;`,
    seenBy: ['test/conformance/sqlite-memory.test.ts'],
  },
  {
    name: 'held-job-changed',
    means: 'a job is changed under the hands of whoever works on it',
    file: 'src/domain/reword.ts',
    find: `if (!waits && (waiting ||`,
    replace: `if (!waits && (`,
    seenBy: ['test/conformance/sqlite-memory.test.ts'],
  },
  {
    name: 'agreed-params-changed',
    means: 'what somebody agreed to is not what runs',
    file: 'src/domain/reword.ts',
    find: `return asked.params !== undefined && agreed ?`,
    replace: `return asked.params !== undefined && agreed === null ?`,
    seenBy: ['test/conformance/sqlite-memory.test.ts'],
  },
  {
    name: 'number-given-twice',
    means: '#12 is another job than the #12 that people and logs speak of',
    file: 'src/engine/steering.ts',
    find: `if (await tx.jobs.isLastNumber(job.no))`,
    replace: `if (job.no === -1)`,
    seenBy: ['test/conformance/sqlite-memory.test.ts'],
  },
  {
    name: 'points-beyond-the-word',
    means: 'a low task with many points goes before an urgent one',
    file: 'src/domain/scoring.ts',
    find: `return Math.min(max, points + ofTags + ofAge);`,
    replace: `return points + ofTags + ofAge;`,
    seenBy: ['test/domain/scoring.test.ts', 'test/engine/scoring.test.ts'],
  },
  {
    name: 'retry-keeps-its-points',
    means: 'a task that fails again and again rises above all others',
    file: 'src/domain/scoring.ts',
    find: `return ownPriority(priority) - score;`,
    replace: `return ownPriority(priority);`,
    seenBy: ['test/engine/scoring.test.ts'],
  },
  {
    name: 'worker-does-not-back-off',
    means: 'a handler that throws uses up all attempts of its job within milliseconds',
    file: 'src/client/job-run.ts',
    find: `...(verb === 'fail' && { backoff: true })`,
    replace: `...(verb === 'fail' && { backoff: false })`,
    seenBy: ['test/client/worker.test.ts'],
  },
  {
    name: 'usual-backoff-for-everybody',
    means: 'a plain fail of a v0 client is no longer tried again at once',
    file: 'src/domain/retry.ts',
    find: `return backoffDelayMs(backoffMs ?? 0, failures);`,
    replace: `return backoffDelayMs(backoffMs ?? USUAL_BACKOFF_MS, failures);`,
    seenBy: ['test/domain/attempts.test.ts'],
  },
  {
    name: 'end-told-to-nobody',
    means: 'whoever waits for the end of a job hears of it a second late',
    file: 'src/engine/core.ts',
    find: `if (effects.ended.length > 0) this.#tellOfEnds(effects.ended);`,
    replace: ``,
    seenBy: ['test/engine/job-end.test.ts'],
  },
  {
    name: 'wait-ends-before-the-retry',
    means: 'whoever waits is told that a job has failed which is about to be tried again',
    file: 'src/engine/job-end.ts',
    find: `const last = await lastOf(core.store.read, job);`,
    replace: `const last = await lastOf(core.store.read, { ...job, rootNo: null, retryAt: null });`,
    seenBy: ['test/engine/job-end.test.ts'],
  },
  {
    name: 'wait-keeps-its-place',
    means: 'callers that hang up fill the places of those who wait, until nobody can',
    file: 'src/http/gone.ts',
    find: `    forget();
    leave();
  });
  return`,
    replace: `    forget();
  });
  return`,
    seenBy: ['test/http/waiting.test.ts'],
  },
  {
    name: 'inputs-of-the-first-try',
    means: 'a dependent is handed the result of a try that failed instead of that of the last',
    file: 'src/store/sql/job-bytes.ts',
    find: `order by member.retry_count desc, member.no desc limit 1), edge.parent_no)`,
    replace: `and 1 = 0 limit 1), edge.parent_no)`,
    seenBy: ['test/conformance/sqlite-memory.test.ts'],
    only: 'hands on the result of the last try',
  },
  {
    name: 'inputs-not-counted',
    means: 'one claim of a hundred dependents reads a gigabyte of results',
    file: 'src/store/sql/job-bytes.ts',
    find: `case when job.dependencies = 0 then 0 else`,
    replace: `case when job.dependencies = 0 or 1 = 1 then 0 else`,
    seenBy: ['test/conformance/sqlite-memory.test.ts'],
    only: 'counts inputs with what a claim may hold',
  },
];
