/** Gathers what an agent is told beside its message. All of it is read before the dispatch is written down. */

import type { Platform } from '../client/platform.ts';
import { type Assignment, messageOf, newNonce, type Prompt, promptFor } from './assignment.ts';
import type { RunNotes } from './ports.ts';

export interface PromptHost {
  readonly platform: Platform;
  readonly notes: RunNotes;
}

/** The prompt of a turn that begins at that moment. Its agent may call the server while it runs. */
export async function promptAt(host: PromptHost, assignment: Assignment, begunAt: number): Promise<Prompt> {
  const access = assignment.plan === null ? null : await host.notes.access(assignment.job, begunAt);
  return promptWith(host, assignment, access);
}

/** The prompt of something that is over once it was taken, so that there is nothing to call in its name. */
export function promptOfEvent(host: PromptHost, assignment: Assignment): Promise<Prompt> {
  return promptWith(host, assignment, null);
}

async function promptWith(
  { platform, notes }: PromptHost,
  assignment: Assignment,
  access: Awaited<ReturnType<RunNotes['access']>> | null,
): Promise<Prompt> {
  const { job, plan } = assignment;
  const nonce = newNonce(platform);
  if (plan === null)
    return promptFor(assignment, { firstRunId: job.id, nonce, access, priorRuns: [], messages: [] });
  const priorRuns = await notes.priorRuns(job, plan, messageOf(assignment));
  const firstRunId = await notes.firstOf(job);
  const messages = await notes.mail(job, assignment.agentId);
  return promptFor(assignment, { firstRunId, nonce, access, priorRuns, messages });
}
