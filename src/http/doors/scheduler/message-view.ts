/** Messages and agents as their door shows them: the names of the text, times as ISO. */

import { agentStatus } from '../../../domain/agent.ts';
import { lastOf, statusOf } from '../../../domain/message.ts';
import type { Engine } from '../../../engine/engine.ts';
import { iso } from '../../iso.ts';

type Shown = Awaited<ReturnType<Engine['messages']['get']>>;
type Agent = Awaited<ReturnType<Engine['agents']['get']>>;

export function messageView(message: Shown, now: number) {
  const { receipts } = message;
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
    job_id: message.scheduleId,
    status: statusOf(message, now),
    error: message.error,
    created_at: iso(message.createdAt),
    delivered_at: isoOrNull(message.deliveredAt ?? lastOf(receipts.map(({ deliveredAt }) => deliveredAt))),
    read_at: isoOrNull(lastOf(receipts.map(({ readAt }) => readAt))),
    expires_at: isoOrNull(message.expiresAt),
    receipts: receipts.map(({ agent, deliveredAt, readAt }) => ({
      agent,
      delivered_at: isoOrNull(deliveredAt),
      read_at: isoOrNull(readAt),
    })),
  };
}

export function agentView(agent: Agent, now: number) {
  return {
    id: agent.id,
    name: agent.name,
    status: agentStatus(agent, now),
    last_seen_at: isoOrNull(agent.lastSeenAt),
    capabilities: agent.capabilities ?? [],
    registered: agent.registered,
    created_at: iso(agent.createdAt),
  };
}

function isoOrNull(at: number | null): string | null {
  return at === null ? null : iso(at);
}
