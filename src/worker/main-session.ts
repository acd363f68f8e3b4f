/** Puts a text into an agent's main session. Nothing comes back: that it was taken is the result. */

import type { Platform } from '../client/platform.ts';
import { type Gateway, GatewayError } from '../gateway/gateway.ts';
import type { Assignment } from './assignment.ts';
import { crashed, isTurnedAway } from './gateway-failure.ts';
import { promptOfEvent } from './gateway-prompt.ts';
import { mailArrived } from './mail-arrived.ts';
import type { RunNotes, WorkerLog } from './ports.ts';

export interface WakeHost {
  readonly gateway: Pick<Gateway, 'name' | 'wake'>;
  readonly platform: Platform;
  readonly notes: RunNotes;
  readonly log: WorkerLog;
}

/** A main session can be given a whole turn, too; that has an answer. */
export function isSystemEvent({ plan }: Assignment): boolean {
  return plan?.schedule.payloadKind === 'systemEvent';
}

export async function wakeMainSession(host: WakeHost, assignment: Assignment): Promise<{ text: string }> {
  const { gateway, notes, log } = host;
  const { job, agentId, replayed } = assignment;
  if ((await notes.begun(job)) !== null) {
    log.warn('A run crashed while it was sent to the main session', { job: job.id, replayed });
    throw crashed('The server stopped while this was sent; nobody knows whether it arrived.', replayed);
  }
  const { text: message, record, messages } = await promptOfEvent(host, assignment);
  const sessionKey = `agent:${agentId}:main`;
  await notes.begin(job, { at: notes.now(), sessionKey, transport: 'wake', ...record });
  try {
    await gateway.wake(message, agentId);
  } catch (error) {
    if (error instanceof GatewayError && isTurnedAway(error)) await notes.takeBack(job);
    throw error;
  }
  if (messages > 0) await mailArrived(host, job);
  return { text: 'sent' };
}
