/** Messages as they go with a claim or a heartbeat: in the names of the door where they are sent. */

import type { Message } from '../../../domain/message.ts';
import { iso } from '../../iso.ts';

/** A further field of a job. */
export function mailJson(messages: readonly Message[]): string {
  return `,"messages":${mailList(messages)}`;
}

export function mailList(messages: readonly Message[]): string {
  return JSON.stringify(messages.map(mailView));
}

function mailView(message: Message) {
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
