/** The shapes that requests must have. Limits are the domain's; unknown fields are refused everywhere. */

import type { Static } from 'typebox';
import {
  fields,
  optional,
  textOrNull,
  TypeMaxRetries,
  TypeProvider,
  TypeRetry,
  TypeScoring,
  whole,
} from '../../fields.ts';
import { Type } from '../../typebox.ts';
import { EVENT_KINDS } from '../../../domain/event.ts';
import { FAILURE_CAUSES } from '../../../domain/job-fields.ts';
import { LIMITS } from '../../../domain/limits.ts';
import { USAGE_TOKENS, USAGE_USD } from '../../../domain/usage.ts';
import { GRANTED_KINDS } from '../../../domain/message.ts';
import { idempotencyHeader } from '../../idempotency.ts';
import { TRACEPARENT, TRACEPARENT_CHARS } from '../../../domain/trace.ts';

export const text = (max: number, min = 1) => Type.String({ minLength: min, maxLength: max });
export const list = <T extends Parameters<typeof Type.Array>[0]>(items: T, max: number, min = 0) =>
  Type.Array(items, { minItems: min, maxItems: max });
export const json = Type.Unknown();

const NAME = '[\\p{L}\\p{N}][\\p{L}\\p{N}._:@-]*';
/** Names of targets, types and pools: they stand in URLs, logs and file names. */
export const Name = Type.String({
  maxLength: LIMITS.nameChars,
  pattern: `^${NAME}$`,
  must: `a name of 1 to ${LIMITS.nameChars} letters, digits and . _ : @ -, beginning with a letter or digit`,
});
/** Free text that finds something again; control characters never belong there. */
export const label = (max: number) =>
  Type.String({
    minLength: 1,
    maxLength: max,
    pattern: '^\\P{Cc}+$',
    must: `text of 1 to ${max} printable characters`,
  });
/** W3C Trace Context, in the only version that there is. */
export const Traceparent = Type.String({
  maxLength: TRACEPARENT_CHARS,
  pattern: TRACEPARENT,
  must: 'a traceparent of version 00: 00-<32 hex digits>-<16 hex digits>-<2 hex digits>, neither id all zeros',
});
export const Time = Type.Unsafe<string | number>({
  type: ['string', 'integer'],
  maxLength: 40,
  must: 'an ISO 8601 time with its zone, or epoch milliseconds',
});
export const GetQuery = fields({
  wait: optional(
    Type.String({
      maxLength: 20,
      pattern: '^[0-9.dhms]+$',
      must: `a duration like 30s, at most ${LIMITS.readWaitMs / 1_000}s`,
      description: 'how long to wait for the end of the job: 30s, 1m',
    }),
  ),
});
/** Several names in one parameter of a URL, with commas between them. */
const commaList = (item: string, max: number, must: string) =>
  Type.String({ maxLength: 2_000, pattern: `^(?:${item})(?:,(?:${item})){0,${max - 1}}$`, must });
const leaseMs = whole(LIMITS.leaseMsMin, LIMITS.leaseMsMax);
const leaseToken = optional(textOrNull(200));
export const id = text(LIMITS.nameChars);

export const PageQuery = fields({
  after: optional(whole(0, Number.MAX_SAFE_INTEGER)),
  limit: optional(whole(1, LIMITS.pageJobs)),
});

/** Pages of what is named, from behind a name or id on. */
export const NamesQuery = fields({
  after: optional(label(LIMITS.nameChars)),
  limit: optional(whole(1, LIMITS.pageJobs)),
});

const capabilities = optional(list(Name, LIMITS.capabilities));
export const ClaimBody = fields({
  leaseMs: optional(leaseMs),
  claimId: optional(label(LIMITS.nameChars)),
  capabilities,
});
export const ClaimNextBody = fields({
  target: optional(Name),
  targets: optional(list(Name, LIMITS.claimTargets, 1)),
  types: optional(list(Name, LIMITS.claimTypes, 1)),
  capabilities,
  max: optional(whole(1, LIMITS.claimJobs)),
  waitMs: optional(whole(0, LIMITS.claimWaitMs)),
  leaseMs: optional(leaseMs),
  claimId: optional(label(LIMITS.nameChars)),
});
/** Ids of messages that have arrived. */
const received = optional(list(id, LIMITS.messagesReceived));
/** What the claim took so far. */
const amount = (most: number) => optional(Type.Number({ minimum: 0, maximum: most }));
const usage = optional(
  fields({
    inputTokens: amount(USAGE_TOKENS),
    outputTokens: amount(USAGE_TOKENS),
    totalTokens: amount(USAGE_TOKENS),
    costUsd: amount(USAGE_USD),
  }),
);
export const HeartbeatBody = fields({
  progress: optional(json),
  leaseMs: optional(
    Type.Integer({
      minimum: LIMITS.leaseMsMin,
      maximum: LIMITS.leaseMsMax,
      description: 'the lease is to last at least this long from now',
    }),
  ),
  leaseToken,
  received,
  usage,
});
/** What a holder takes in the same call that ends its job; nobody waits here. */
const Next = fields({
  targets: optional(list(Name, LIMITS.claimTargets, 1)),
  types: optional(list(Name, LIMITS.claimTypes, 1)),
  capabilities,
  max: optional(whole(1, LIMITS.claimJobs)),
  leaseMs: optional(leaseMs),
  claimId: optional(label(LIMITS.nameChars)),
});
export type NextClaim = Static<typeof Next>;
export const CompleteBody = fields({
  result: optional(json),
  leaseToken,
  received,
  usage,
  next: optional(Next),
});
export const FailBody = fields({
  error: optional(json),
  requeue: optional(Type.Boolean()),
  cause: optional(Type.Enum([...FAILURE_CAUSES])),
  backoff: optional(
    Type.Boolean({
      description:
        'wait before the next try: 10 s, then twice as long each time, unless the job says how long',
    }),
  ),
  leaseToken,
  received,
  usage,
  next: optional(Next),
});
export const CompleteBatchBody = fields({
  jobs: list(fields({ id, leaseToken, result: optional(json) }), LIMITS.batchJobs, 1),
  next: optional(Next),
});
export const ReleaseBody = fields({ reason: optional(textOrNull(LIMITS.reasonChars)), leaseToken, received });
export const SnoozeBody = fields({ untilAt: Time, leaseToken, received });
const NAMED = `^@?${NAME}$`;
export const AskBody = fields({
  question: text(LIMITS.questionChars),
  to: Type.String({
    maxLength: LIMITS.nameChars,
    pattern: NAMED,
    must: '@ and the name of an alias, or the name of an agent or a person',
  }),
  choices: optional(list(text(LIMITS.choiceChars), LIMITS.questionChoices, 1)),
  schema: optional(json),
  timeoutMs: whole(1, LIMITS.timeoutMsMax),
  default: optional(json),
  leaseToken,
  received,
});
export const CheckpointBody = fields({
  text: optional(text(LIMITS.checkpointBytes, 0)),
  data: optional(json),
  leaseToken,
});
export const AnswerBody = fields({ answer: json });
export const QuestionsQuery = fields({
  open: optional(Type.Boolean()),
  to: optional(label(LIMITS.nameChars)),
  job: optional(id),
  before: optional(whole(1, Number.MAX_SAFE_INTEGER)),
  limit: optional(whole(1, LIMITS.pageJobs)),
});
export const CommentBody = fields({ text: text(LIMITS.commentChars) });
export const CancelBody = fields({ reason: optional(textOrNull(LIMITS.reasonChars)) });

const LogLine = fields({
  text: text(LIMITS.logLineChars),
  level: optional(Type.Enum(['debug', 'info', 'warn', 'error'])),
  at: optional(Time),
});
export const LogBody = fields({ lines: list(LogLine, LIMITS.logLines, 1), leaseToken });

export const NameParams = Type.Object({ name: Name });
export const TypeBody = fields({
  label: optional(text(LIMITS.titleChars)),
  sop: optional(textOrNull(LIMITS.sopChars)),
  paramsSchema: optional(json),
  maxRetries: optional(TypeMaxRetries),
  retry: optional(TypeRetry),
  scoring: optional(TypeScoring),
  provider: optional(TypeProvider),
});
const limit = (most: number) =>
  optional(Type.Unsafe<number | null>({ type: ['number', 'null'], exclusiveMinimum: 0, maximum: most }));
export const BudgetBody = fields({ tokens: limit(USAGE_TOKENS), costUsd: limit(USAGE_USD) });
export const UsageQuery = fields({ days: optional(whole(1, 366)) });
export const PoolBody = fields({
  capacity: whole(1, LIMITS.poolCapacity),
  perKey: optional(whole(1, LIMITS.poolCapacity)),
});

export const TokenBody = fields({
  name: Name,
  role: Type.Enum(['head', 'worker', 'viewer']),
  targets: optional(
    Type.Unsafe<string[] | null>({
      ...list(Name, LIMITS.claimTargets, 1),
      type: ['array', 'null'],
      must: `a list of 1 to ${LIMITS.claimTargets} names, or null for all targets`,
    }),
  ),
  grants: optional(list(Type.Enum([...GRANTED_KINDS]), GRANTED_KINDS.length)),
});
export const TokenParams = Type.Object({ token: Name });
export const AuditQuery = fields({
  before: optional(whole(1, Number.MAX_SAFE_INTEGER)),
  limit: optional(whole(1, LIMITS.pageJobs)),
});

const PLACE = '\\d{1,15}(\\.\\d{1,9})?';
export const DownloadQuery = fields({
  verify: optional(
    Type.Boolean({ description: 'Read the whole file first, and refuse it when its SHA-256 is another.' }),
  ),
});

export const EventsQuery = fields({
  after: optional(
    Type.String({
      maxLength: 25,
      pattern: `^${PLACE}$`,
      must: 'the id of an event, or 0 for the beginning',
    }),
  ),
  target: optional(commaList(NAME, LIMITS.claimTargets, 'one or more names with commas between them')),
  type: optional(
    commaList(
      EVENT_KINDS.map((kind) => kind.replace('.', '\\.')).join('|'),
      EVENT_KINDS.length,
      `one or more of ${EVENT_KINDS.join(', ')}, with commas between them`,
    ),
  ),
  jobId: optional(id),
});

/** Headers that some routes read besides the usual ones; checked where they are used. */
export const LeaseHeaders = Type.Object({
  'X-Lease-Token': optional(text(200)),
});
/** `return=minimal` asks for the names and states of ended jobs only. */
const prefer = { Prefer: optional(text(200)) };
export const EndHeaders = Type.Object({ ...LeaseHeaders.properties, ...prefer });
export const BatchHeaders = Type.Object(prefer);
export const CreateHeaders = Type.Object({
  ...idempotencyHeader,
  traceparent: optional(Type.String()),
});
export const FeedHeaders = Type.Object({
  'Last-Event-ID': optional(Type.String({ pattern: `^${PLACE}$` })),
});
