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
];
