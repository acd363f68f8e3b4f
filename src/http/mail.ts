/** Messages as they go with a claim, a heartbeat or a task: in the names of the door where they are sent. */

import type { Job } from '../domain/job.ts';
import type { Message } from '../domain/message.ts';
import { iso } from './iso.ts';
import type { Call } from './routes.ts';

/** A further field of a task that its holder looks at. */
export async function mailField({ engine, actor }: Call, job: Job): Promise<{ messages?: object[] }> {
  const messages = await engine.messages.carried(actor, job);
  return messages.length === 0 ? {} : { messages: messages.map(mailView) };
}

/** The same for whoever takes a task by its status. No lease token says later that the answer came, so it is watched. */
export async function mailTaken(call: Call, job: Job): Promise<{ messages?: object[] }> {
  const field = await mailField(call, job);
  const { raw } = call.reply;
  const takeBack = (): void => {
    // When even this fails, the end of the job counts them as delivered.
    if (!raw.writableFinished || raw.statusCode >= 400)
      void call.engine.messages.takenBack(job).catch(() => undefined);
  };
  if (field.messages !== undefined && raw.destroyed) takeBack();
  else if (field.messages !== undefined) raw.once('close', takeBack);
  return field;
}

/** A further field of a job. */
export function mailJson(messages: readonly Message[]): string {
  return `,"messages":${mailList(messages)}`;
}

export function mailList(messages: readonly Message[]): string {
  return JSON.stringify(messages.map(mailView));
}

export function mailView(message: Message) {
  return {
    id: message.id,
    from_agent: message.sender,
    to_agent: message.recipient,
    kind: message.kind,
    subject: message.subject,
    body: message.body,
    priority: message.priority,
    owner: message.owner,
    reply_to: message.replyTo,
    created_at: iso(message.createdAt),
    expires_at: message.expiresAt === null ? null : iso(message.expiresAt),
  };
}
