/** Waiting, steering and defaults that protect. */

import type { Mutant } from '../mutant.ts';

export const STEERING: readonly Mutant[] = [
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
    gone.abort();
  });
  return`,
    replace: `    forget();
  });
  return`,
    seenBy: ['test/http/waiting.test.ts'],
  },
];
