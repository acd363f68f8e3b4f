/** What requests and answers about aliases, subscriptions and deliveries look like. */

import type { TObject } from 'typebox';
import { LIMITS } from '../../../domain/limits.ts';
import { DELIVERY_KINDS, DELIVERY_STATUSES } from '../../../domain/delivery.ts';
import { SUBSCRIBED_EVENTS } from '../../../domain/subscription.ts';
import { WEBHOOK_URL_CHARS } from '../../../domain/webhook-url.ts';
import { fields, optional, textOrNull, whole } from '../../fields.ts';
import { Type } from '../../typebox.ts';

const aliasName = Type.String({
  minLength: 1,
  maxLength: LIMITS.nameChars,
  pattern: '^@?[\\p{L}\\p{N}][\\p{L}\\p{N}._-]*$',
  must: 'a name of letters, digits, . _ and -, with or without @ before it',
});
const name = Type.String({ minLength: 1, maxLength: LIMITS.nameChars });

export const AliasParams: TObject = Type.Object({
  alias: Type.String({ maxLength: LIMITS.nameChars + 1, must: 'the name of an alias' }),
});
export const AliasBody = fields({
  alias: aliasName,
  channel: name,
  target: optional(Type.String({ maxLength: WEBHOOK_URL_CHARS })),
  description: optional(textOrNull(LIMITS.titleChars)),
});

export const SubscriptionBody = fields({
  alias: aliasName,
  events: Type.Array(Type.Enum([...SUBSCRIBED_EVENTS]), {
    minItems: 1,
    maxItems: SUBSCRIBED_EVENTS.length,
    uniqueItems: true,
  }),
  type: optional(name),
  schedule_id: optional(name),
  target: optional(name),
  job_id: optional(name),
});

export const DeliveriesQuery = fields({
  run_id: optional(name),
  status: optional(Type.Enum([...DELIVERY_STATUSES])),
  before: optional(whole(0, Number.MAX_SAFE_INTEGER)),
  limit: optional(whole(1, LIMITS.pageJobs)),
});

const text = Type.String();
const time = Type.String({ format: 'date-time' });
const orNull = (type: string, rest: object = {}) => Type.Unsafe({ type: [type, 'null'], ...rest });
const nullableText = orNull('string');

export const Alias = Type.Object({
  alias: text,
  channel: text,
  /** Of a webhook only head is shown all. */
  target: text,
  description: nullableText,
  created_at: time,
});
export const Aliases = Type.Object({ aliases: Type.Array(Alias) });
export const AliasRemoved = Type.Object({ alias: text, removed: Type.Literal(true) });

export const Subscription = Type.Object({
  id: text,
  alias: text,
  events: Type.Array(Type.Enum([...SUBSCRIBED_EVENTS])),
  type: nullableText,
  schedule_id: nullableText,
  target: nullableText,
  job_id: nullableText,
  created_at: time,
  created_by: text,
});
export const Subscriptions = Type.Object({ subscriptions: Type.Array(Subscription) });
export const SubscriptionRemoved = Type.Object({ id: text, removed: Type.Literal(true) });

export const Delivery = Type.Object({
  id: text,
  kind: Type.Enum([...DELIVERY_KINDS]),
  run_id: nullableText,
  job_id: nullableText,
  alias: nullableText,
  channel: text,
  target: text,
  status: Type.Enum([...DELIVERY_STATUSES]),
  attempts: Type.Integer(),
  proof: orNull('object', { additionalProperties: true }),
  error: nullableText,
  text: nullableText,
  created_at: time,
  delivered_at: orNull('string', { format: 'date-time' }),
});
export const Deliveries = Type.Object({ deliveries: Type.Array(Delivery), next_before: orNull('integer') });
