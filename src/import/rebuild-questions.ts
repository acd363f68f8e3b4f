/** What jobs' events say about their questions. */

import type { JobEvent } from '../domain/event.ts';
import { type Job, rootOf } from '../domain/job.ts';
import { goesOn, type Question } from '../domain/question.ts';
import type { Store, Tx } from '../store/store.ts';
import { count } from './counts.ts';

const BATCH = 500;

/** Plays the events that tell of questions, in their order. `jobOf` knows the jobs of these events. */
export async function moveQuestions(
  tx: Tx,
  events: readonly JobEvent[],
  jobOf: (jobNo: number) => Job | undefined,
): Promise<void> {
  for (const { jobNo, kind, by, at, facts } of events) {
    const id = textOf(facts?.['question']);
    const job = jobOf(jobNo);
    if (id === null || job === undefined) continue;
    if (kind === 'job.asked') await tx.questions.insert([questionIn(job, id, by, at, facts ?? {})]);
    if (kind === 'job.answered')
      await tx.questions.end(
        id,
        {
          status: 'answered',
          answer: JSON.stringify(facts?.['answer'] ?? null),
          answeredBy: by,
          answeredAt: at,
        },
        at,
      );
    if (kind === 'job.timeout') await tx.questions.end(id, { ...UNANSWERED, status: 'timed_out' }, at);
  }
}

const UNANSWERED = { answer: null, answeredBy: null, answeredAt: null } as const;

function questionIn(
  job: Job,
  id: string,
  askedBy: string,
  askedAt: number,
  facts: Readonly<Record<string, unknown>>,
): Omit<Question, 'no'> {
  const { choices, schema, expiresAt } = facts;
  return {
    id,
    jobNo: job.no,
    rootNo: rootOf(job),
    text: textOf(facts['text']) ?? '',
    to: textOf(facts['to']) ?? 'head',
    choices: Array.isArray(choices) ? choices.map(String) : null,
    schema: schema === undefined || schema === null ? null : JSON.stringify(schema),
    fallback: 'default' in facts ? JSON.stringify(facts['default']) : null,
    askedBy,
    askedAt,
    expiresAt: typeof expiresAt === 'number' ? expiresAt : askedAt,
    leaseToken: null,
    status: 'open',
    ...UNANSWERED,
  };
}

/** A question for which no job waits is closed; a job that waits for one that is lost goes on without its answer. */
export async function finishQuestions(store: Store, jobNos: ReadonlySet<number>): Promise<void> {
  const all = [...jobNos];
  for (let i = 0; i < all.length; i += BATCH)
    await store.transaction(0, async (tx) => {
      for (const job of await tx.jobs.lockByNo(all.slice(i, i + BATCH))) await finishOne(tx, job);
    });
}

async function finishOne(tx: Tx, job: Job): Promise<void> {
  const open = await tx.questions.list({
    jobNo: job.no,
    open: true,
    limit: BATCH,
    targets: null,
    reader: '',
  });
  for (const { id } of open)
    if (id !== job.question) await tx.questions.end(id, { ...UNANSWERED, status: 'closed' }, job.updatedAt);
  if (job.question === null || open.some(({ id }) => id === job.question)) return;
  const after = goesOn(job, job.updatedAt);
  await tx.jobs.update([{ before: job, after, kind: 'other' }]);
  await count(tx, [
    { target: job.target, state: job.state, by: -1 },
    { target: job.target, state: after.state, by: 1 },
  ]);
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
