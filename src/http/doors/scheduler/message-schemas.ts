/** What requests and answers about messages and agents look like. */

import type { TObject } from 'typebox';
import { LIMITS } from '../../../domain/limits.ts';
import { MESSAGE_KINDS, MESSAGE_STATUSES } from '../../../domain/message.ts';
import { fields, optional, textOrNull, whole } from '../../fields.ts';
import { Type } from '../../typebox.ts';

const NAME = '[\\p{L}\\p{N}][\\p{L}\\p{N}._:@-]*';
const agentId = Type.String({
  maxLength: LIMITS.nameChars,
  pattern: `^${NAME}$`,
  must: `the id of an agent: 1 to ${LIMITS.nameChars} letters, digits and . _ : @ -, beginning with a letter or digit`,
});
const agent = optional(agentId);
const name = optional(Type.String({ minLength: 1, maxLength: LIMITS.nameChars }));
const limit = optional(whole(1, LIMITS.pageJobs));
const place = optional(whole(0, Number.MAX_SAFE_INTEGER));
const label = Type.String({ minLength: 1, maxLength: LIMITS.titleChars });
const Time = optional(
  Type.Unsafe<string | number | null>({
    type: ['string', 'integer', 'null'],
    maxLength: 40,
    must: 'an ISO 8601 time with its zone, or epoch milliseconds',
  }),
);
const ttl = optional(whole(1, LIMITS.messageTtlS));

export const MessageBody = fields({
  kind: optional(Type.Enum([...MESSAGE_KINDS])),
  body: Type.Unknown(),
  subject: optional(label),
  priority: optional(whole(0, 2)),
  owner: optional(Type.String({ minLength: 1, maxLength: LIMITS.nameChars })),
  reply_to: name,
  replyTo: name,
  expires_at: Time,
  expiresAt: Time,
  ttl_s: ttl,
  ttlS: ttl,
  job_id: name,
  jobId: name,
  from_agent: agent,
  fromAgent: agent,
  to_agent: agent,
  toAgent: agent,
});
export const MessagesQuery = fields({
  kind: optional(Type.Enum([...MESSAGE_KINDS])),
  status: optional(Type.Enum([...MESSAGE_STATUSES])),
  from_agent: agent,
  to_agent: agent,
  agent,
  unread: optional(Type.Boolean()),
  before: place,
  after: optional(
    Type.String({
      maxLength: 24,
      pattern: '^\\d{1,2}\\.\\d{1,16}$',
      must: 'the next_after of the page before',
    }),
  ),
  limit,
});
export const ThreadQuery = fields({ after: place, limit });
export const UnreadQuery = fields({ agent });
export const ReadBody = fields({ agent });
export const ReadAllBody = fields({ agent });

export const AgentParams: TObject = Type.Object({ id: agentId });
export const AgentBody = fields({
  id: agentId,
  name: optional(textOrNull(LIMITS.titleChars)),
  capabilities: optional(
    Type.Unsafe<string[] | null>({
      type: ['array', 'null'],
      items: agentId,
      maxItems: LIMITS.capabilities,
      must: `a list of at most ${LIMITS.capabilities} names, or null`,
    }),
  ),
});

const text = Type.String();
const time = Type.String({ format: 'date-time' });
const orNull = (type: string, rest: object = {}) => Type.Unsafe({ type: [type, 'null'], ...rest });
const nullableText = orNull('string');
const nullableTime = orNull('string', { format: 'date-time' });

export const Message = Type.Object({
  id: text,
  from_agent: text,
  to_agent: text,
  kind: Type.Enum([...MESSAGE_KINDS]),
  subject: nullableText,
  body: text,
  priority: Type.Integer(),
  owner: nullableText,
  reply_to: nullableText,
  job_id: nullableText,
  status: Type.Enum([...MESSAGE_STATUSES]),
  error: nullableText,
  created_at: time,
  delivered_at: nullableTime,
  read_at: nullableTime,
  expires_at: nullableTime,
  /** One for each recipient. */
  receipts: Type.Array(Type.Object({ agent: text, delivered_at: nullableTime, read_at: nullableTime })),
});
export const Messages = Type.Object({
  messages: Type.Array(Message),
  next_before: orNull('integer'),
  /** Of unread messages, which stand in the order in which they matter. */
  next_after: Type.Optional(nullableText),
});
export const Thread = Type.Object({ messages: Type.Array(Message), next_after: orNull('integer') });
export const Unread = Type.Object({ agent: text, unread: Type.Integer() });
export const AllRead = Type.Object({ agent: text, read: Type.Integer() });

export const Agent = Type.Object({
  id: text,
  name: nullableText,
  status: Type.Enum(['idle', 'busy', 'offline']),
  last_seen_at: nullableTime,
  capabilities: Type.Array(text),
  registered: Type.Boolean(),
  created_at: time,
});
export const Agents = Type.Object({ agents: Type.Array(Agent) });
export const AgentRemoved = Type.Object({ id: text, removed: Type.Literal(true) });
