/** What a job of the files has left for its next holder: its questions and its last checkpoint. */

import { type Job, rootOf } from '../domain/job.ts';
import { QUESTION_STATUSES } from '../domain/question.ts';
import type { Tx } from '../store/store.ts';
import { type Fields, jsonOrNull, textOf, timeOf } from './v0-files.ts';

/** Where a job stands that waits for an answer: one whose question the file has lost goes on without it. */
export function waitingIn(
  fields: Fields,
  state: Job['state'],
): Pick<Job, 'state' | 'question' | 'blockedOn'> {
  const id = textOf(fields['question']);
  if (id === null) return { state, question: null, blockedOn: textOf(fields['blockedOn']) };
  const isOpen = askedIn(fields).some((asked) => asked['id'] === id && asked['status'] === 'open');
  return isOpen
    ? { state, question: id, blockedOn: null }
    : { state: state === 'blocked' ? 'queued' : state, question: null, blockedOn: null };
}

export async function importHandedOn(tx: Tx, job: Job, fields: Fields): Promise<void> {
  const checkpoint = jsonOrNull(fields['checkpoint']);
  if (checkpoint !== null) await tx.checkpoints.save([{ jobNo: job.no, value: checkpoint }]);
  for (const asked of askedIn(fields)) await importQuestion(tx, job, asked);
}

async function importQuestion(tx: Tx, job: Job, asked: Fields): Promise<void> {
  const [id, text, to] = [textOf(asked['id']), textOf(asked['question']), textOf(asked['to'])];
  const [askedAt, expiresAt] = [timeOf(asked['askedAt']), timeOf(asked['expiresAt'])];
  const status = QUESTION_STATUSES.find((word) => word === asked['status']);
  if (id === null || text === null || to === null) return;
  if (askedAt === null || expiresAt === null || status === undefined) return;
  const choices = asked['choices'];
  await tx.questions.insert([
    {
      id,
      jobNo: job.no,
      rootNo: rootOf(job),
      text,
      to,
      choices: Array.isArray(choices) ? choices.map(String) : null,
      schema: jsonOrNull(asked['schema']),
      fallback: 'default' in asked ? JSON.stringify(asked['default']) : null,
      askedBy: textOf(asked['askedBy']) ?? 'unknown',
      askedAt,
      expiresAt,
      leaseToken: null,
      status,
      answer: status === 'answered' ? JSON.stringify(asked['answer'] ?? null) : null,
      answeredBy: textOf(asked['answeredBy']),
      answeredAt: timeOf(asked['answeredAt']),
    },
  ]);
}

function askedIn(fields: Fields): readonly Fields[] {
  const asked = fields['asked'];
  if (!Array.isArray(asked)) return [];
  return asked.filter((each): each is Fields => typeof each === 'object' && each !== null);
}
