/** Asking and waiting, and what is handed to the next holder. */

import type { Mutant } from '../mutant.ts';

const ENGINE = ['test/engine/questions.test.ts'];

export const QUESTIONS: readonly Mutant[] = [
  {
    name: 'ask-uses-an-attempt',
    means: 'a job that asks a few times is dead before anybody can answer',
    file: 'src/domain/decide-ending.ts',
    find: `  next.attempts -= 1;
  dropLease(next);`,
    replace: `  dropLease(next);`,
    seenBy: ENGINE,
  },
  {
    name: 'ask-unanswered-for-ever',
    means: 'a job whose question nobody answers is tried without end',
    file: 'src/domain/question.ts',
    find: `attempts: job.attempts + 1 };`,
    replace: `attempts: job.attempts };`,
    seenBy: ENGINE,
  },
  {
    name: 'ask-answer-at-the-end',
    means: 'an answered job waits behind everything that came after it',
    file: 'src/domain/priority.ts',
    find: `  return ownPriority(priority) + FRONT;`,
    replace: `  return ownPriority(priority);`,
    seenBy: ENGINE,
  },
  {
    name: 'ask-stays-in-front',
    means: 'a job that was answered once goes before all others for ever',
    file: 'src/domain/lease.ts',
    find: `    priority: ownPriority(job.priority),
`,
    replace: ``,
    seenBy: ENGINE,
  },
  {
    name: 'ask-answered-by-anybody',
    means: 'a worker gives the permission that it asked a person for',
    file: 'src/engine/questions.ts',
    find: `return actor.role === 'head' || isAsked(actor, question);`,
    replace: `return actor.role !== 'run';`,
    seenBy: ENGINE,
  },
  {
    name: 'ask-second-answer-counts',
    means: 'the second answer moves a job that went on with the first',
    file: 'src/engine/questions.ts',
    find: `  if (current.status === 'open') return giveAnswer(tx, changeSet, job, current, answer, by);`,
    replace: `  if (current.status !== 'closed') return giveAnswer(tx, changeSet, job, current, answer, by);`,
    seenBy: ENGINE,
  },
  {
    name: 'ask-cancelled-stays-open',
    means: 'people are asked for the sake of a job that was cancelled',
    file: 'src/engine/change-set.ts',
    find: `if (from.question !== null && to.question === null) this.#unasked.push(from.question);`,
    replace: ``,
    seenBy: ENGINE,
  },
  {
    name: 'ask-let-in-by-a-timer',
    means: 'a job goes on without the answer that it waits for, when a timer looked at it late',
    file: 'src/domain/decide.ts',
    find: `if (job.question !== null) return unchanged(job);`,
    replace: ``,
    seenBy: ['test/domain/question.test.ts'],
  },
  {
    name: 'ask-turn-found-again',
    means: 'an agent is asked its own question over and over: its last reply is taken for the new one',
    file: 'src/domain/decide-ending.ts',
    find: `...(next.scheduleId !== null && { note: NOTHING_SENT }),`,
    replace: ``,
    seenBy: ['test/domain/question.test.ts'],
  },
  {
    name: 'ask-swallowed',
    means: 'a handler that catches too much ends its job as done, and its question is never asked',
    file: 'src/client/job-run.ts',
    find: `return this.#asked === null ? { verb: 'complete', result } : { verb: 'ask', question: this.#asked };`,
    replace: `return { verb: 'complete', result };`,
    seenBy: ['test/client/worker.test.ts'],
  },
  {
    name: 'checkpoint-lost-in-a-lineage',
    means: 'a retry begins anew what the failed job had almost done',
    file: 'src/engine/retrying.ts',
    find: `if (failed.checkpointAt !== null) await tx.checkpoints.copy(failed.no, made.no);`,
    replace: ``,
    seenBy: ENGINE,
  },
  {
    name: 'checkpoint-outlives-done',
    means: 'a job that is opened again after it was done skips what it is to do',
    file: 'src/domain/decide-ending.ts',
    find: `  next.checkpointAt = null;
`,
    replace: ``,
    seenBy: ENGINE,
  },
  {
    name: 'checkpoint-not-in-the-journal',
    means: 'after a rebuild a job begins anew what it had almost done',
    file: 'src/files/journal-entry.ts',
    find: `...(checkpoint !== undefined && { checkpoint }),`,
    replace: ``,
    seenBy: ['test/import/rebuild.test.ts'],
  },
];
