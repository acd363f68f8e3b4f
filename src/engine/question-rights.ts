/** Who is asked a question, beside the people that head speaks for. */

import type { Actor } from '../domain/command.ts';
import { rootOf } from '../domain/job.ts';
import type { QuestionRecord } from '../domain/question.ts';
import type { Core } from './core.ts';
import { agentAtGateway } from './message-rights.ts';

/** As whom the caller may answer; null when it is not asked. A worker is asked by its name. */
export async function askedAs(core: Core, actor: Actor, question: QuestionRecord): Promise<string | null> {
  const { name, role, onlyJob } = actor;
  if (role === 'worker') return name === question.to ? name : null;
  return role === 'run' && onlyJob !== undefined ? asAgent(core, onlyJob, question) : null;
}

/**
 * A run at a gateway answers for its agent what came to it as a message, and nothing that its own work asked: who waits for
 * a word from elsewhere must not give it itself.
 */
async function asAgent(
  core: Core,
  runId: string,
  { id, to, rootNo }: QuestionRecord,
): Promise<string | null> {
  const { jobs, messages, receipts } = core.store.read;
  const job = await jobs.byId(runId);
  if (job === null || rootOf(job) === rootNo || (await agentAtGateway(core.store.read, job)) !== to)
    return null;
  const mail = await messages.byId(id);
  const handed = mail === null ? [] : ((await receipts.of([mail.no])).get(mail.no) ?? []);
  return handed.some(({ agent, jobNo }) => agent === to && jobNo === job.no) ? to : null;
}
