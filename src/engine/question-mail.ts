/** A question for an agent comes to it as a message, for as long as the question waits for its answer. */

import type { Job } from '../domain/job.ts';
import { LIMITS } from '../domain/limits.ts';
import { type Message, rankOf } from '../domain/message.ts';
import type { QuestionDraft } from '../domain/question.ts';
import type { Tx } from '../store/store.ts';
import { post } from './sending.ts';

const URGENT = 2;

/** Answers whom it reached; a name that is no agent's is a person, who looks at the list of questions. */
export async function mailQuestion(
  tx: Tx,
  { sender, job, now }: { sender: string; job: Job; now: number },
  question: QuestionDraft,
): Promise<readonly string[]> {
  if ((await tx.agents.byId(question.to)) === null) return [];
  const message: Omit<Message, 'no'> = {
    // The question's own: by it a run that was handed the message is known to be asked.
    id: question.id,
    sender,
    recipient: question.to,
    kind: 'task',
    subject: `Question of job #${job.no}`,
    body: bodyOf(question),
    priority: URGENT,
    rank: rankOf('task', URGENT),
    owner: null,
    replyTo: null,
    threadNo: null,
    scheduleId: job.scheduleId,
    jobNo: job.no,
    status: 'pending',
    error: null,
    createdAt: now,
    deliveredAt: null,
    expiresAt: now + question.timeoutMs,
  };
  return post(tx, message, false);
}

/** A prompt shows the beginning of a message only: what to call, and then the question itself. */
function bodyOf({ id, text, choices }: QuestionDraft): string {
  const how = `Answer with POST /questions/${id}/answer {"answer": …} or \`spine questions answer ${id} <answer>\`.`;
  const said = choices === null ? '' : `\n\nOne of: ${choices.join(', ')}`;
  return `${how}\n\n${text}${said}`.slice(0, LIMITS.messageChars);
}
