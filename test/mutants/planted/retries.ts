/** Work whose worker goes away, what follows a failure, and the model that is asked about it. */

import type { Mutant } from '../mutant.ts';

export const RETRIES: readonly Mutant[] = [
  {
    name: 'silence-forgiven',
    means: 'a task whose worker is gone stays in progress for ever',
    file: 'src/domain/decide.ts',
    find: `if (absent === undefined) return unchanged(job);`,
    replace: `if (absent !== null) return unchanged(job);`,
    seenBy: ['test/engine/presence.test.ts'],
  },
  {
    name: 'downtime-is-silence',
    means: 'after an hour in which the server stood still every task of every worker is failed',
    file: 'src/loops/stuck-detector.ts',
    find: `if (waitMs > 0) return`,
    replace: `if (waitMs > 1e12) return`,
    seenBy: ['test/engine/presence.test.ts'],
  },
  {
    name: 'retry-titles-stacked',
    means: 'the third try of a task is called "T (retry 1) (retry 2) (retry 3)"',
    file: 'src/domain/retry-text.ts',
    find: `return retryCount > 0 && title.endsWith(own) ?`,
    replace: `return retryCount > 1e6 && title.endsWith(own) ?`,
    seenBy: ['test/engine/retrying.test.ts'],
  },
  {
    name: 'skip-begins-a-sentence',
    means: 'a task is given up because its advice begins with the word skip',
    file: 'src/engine/consulting.ts',
    find: `if (verdict?.decision === 'skip')`,
    replace: `if (verdict?.words?.startsWith('Skip') || verdict?.decision === 'skip')`,
    seenBy: ['test/engine/retrying.test.ts'],
  },
  {
    name: 'model-asked-about-timeouts',
    means: 'money is spent on asking what a worker that went away has done wrong',
    file: 'src/engine/consulting.ts',
    find: `if (isPlainFailure(job.cause, reason)) return plain;`,
    replace: `if (isPlainFailure(job.cause, reason) && reason === '') return plain;`,
    seenBy: ['test/engine/retrying.test.ts'],
  },
  {
    name: 'retries-open-the-breaker',
    means: 'one task that cannot be done pauses all others of its type',
    file: 'src/domain/streak.ts',
    find: `known.roots.includes(root) ?`,
    replace: `root < 0 ?`,
    seenBy: ['test/engine/breaker.test.ts'],
  },
  {
    name: 'breaker-forgets-successes',
    means: 'a type that fails once a day and works in between is paused on the third day',
    file: 'src/engine/change-set.ts',
    find: `if (typeNos.size > 0) tx.defer`,
    replace: `if (typeNos.size > 1e6) tx.defer`,
    seenBy: ['test/engine/breaker.test.ts'],
  },
  {
    name: 'limits-use-attempts',
    means: 'a provider that is at its limit for an hour costs every task of it its retries',
    file: 'src/domain/decide-ending.ts',
    find: `next.reason = \`\${provider} is at its limit\`;
  next.attempts -= 1;`,
    replace: `next.reason = \`\${provider} is at its limit\`;`,
    seenBy: ['test/engine/provider-limits.test.ts'],
  },
  {
    name: 'limits-park-everything',
    means: 'the limit of one provider holds back the work of all others',
    file: 'src/store/reads/routing.ts',
    find: `pausedProviders.has(row[2] as string)`,
    replace: `row[2] !== null && pausedProviders.size > 0`,
    seenBy: ['test/engine/provider-limits.test.ts'],
  },
  {
    name: 'reports-outlive-attempts',
    means:
      'a task that once met a limit of its provider is parked for ever, and the next worker is said to have failed as the first',
    file: 'src/domain/decide-ending.ts',
    find: `leasePolicy === 'presence' ? { ...writes, outcome: NO_OUTCOME } : writes`,
    replace: `leasePolicy === 'adopt' ? { ...writes, outcome: NO_OUTCOME } : writes`,
    seenBy: ['test/contracts/bots-sqlite.test.ts'],
    only: 'one attempt after another',
  },
  {
    name: 'words-outlive-attempts',
    means:
      'what a worker said of a limit is why the next one fails, who says nothing: the task is parked for ever',
    file: 'src/engine/consulting.ts',
    find: `last.at >= (startedAt ?? queuedAt ?? 0)`,
    replace: `last.at >= 0`,
    seenBy: ['test/contracts/bots-sqlite.test.ts'],
    only: 'one attempt after another',
  },
  {
    name: 'reopened-with-its-result',
    means: 'a task that an admin opened again shows what its last worker found as the work of the next one',
    file: 'src/domain/decide-operator.ts',
    find: `command.keepsResult ? again`,
    replace: `command.keepsResult !== undefined || job.no > 0 ? again`,
    seenBy: ['test/contracts/bots-sqlite.test.ts'],
    only: 'one attempt after another',
  },
];
