/** The shapes that requests must have. Limits are the domain's; unknown fields are refused everywhere. */

import { type Static, type TProperties, Type } from 'typebox';
import { STATES } from '../domain/job.ts';
import { LIMITS } from '../domain/limits.ts';
import { SPINE_STATUSES } from '../domain/words.ts';

const closed = { additionalProperties: false } as const;
const fields = <T extends TProperties>(properties: T) => Type.Object(properties, closed);
const optional = Type.Optional;

const text = (max: number, min = 1) => Type.String({ minLength: min, maxLength: max });
const textOrNull = (max: number) => Type.Unsafe<string | null>({ type: ['string', 'null'], maxLength: max });
const whole = (minimum: number, maximum: number) => Type.Integer({ minimum, maximum });
const list = <T extends Parameters<typeof Type.Array>[0]>(items: T, max: number, min = 0) =>
  Type.Array(items, { minItems: min, maxItems: max });
const json = Type.Unknown();

/** Names of targets, types and pools: they stand in URLs, logs and file names. */
const Name = Type.String({
  maxLength: LIMITS.nameChars,
  pattern: '^[\\p{L}\\p{N}][\\p{L}\\p{N}._:@-]*$',
  must: `a name of 1 to ${LIMITS.nameChars} letters, digits and . _ : @ -, beginning with a letter or digit`,
});
/** Free text that finds something again; control characters never belong there. */
const label = (max: number) =>
  Type.String({
    minLength: 1,
    maxLength: max,
    pattern: '^\\P{Cc}+$',
    must: `text of 1 to ${max} printable characters`,
  });
const Time = Type.Unsafe<string | number>({
  type: ['string', 'integer'],
  maxLength: 40,
  must: 'an ISO 8601 time with its zone, or epoch milliseconds',
});
const leaseMs = whole(LIMITS.leaseMsMin, LIMITS.leaseMsMax);
const leaseToken = optional(textOrNull(200));
const id = text(LIMITS.nameChars);

const Dependency = Type.Union(
  [id, fields({ job: id, on: optional(Type.Enum(['success', 'failure', 'complete'])) })],
  {
    must: 'a job id, or {job, on} with on one of success, failure, complete',
  },
);

export const NewJob = fields({
  target: optional(Name),
  queue: optional(Name),
  type: optional(Name),
  priority: optional(whole(-LIMITS.priority, LIMITS.priority)),
  title: optional(text(LIMITS.titleChars)),
  description: optional(text(LIMITS.descriptionChars)),
  spec: optional(json),
  meta: optional(json),
  params: optional(json),
  budget: optional(json),
  tags: optional(list(label(LIMITS.nameChars), LIMITS.tags)),
  runAt: optional(Time),
  timeoutMs: optional(whole(1, LIMITS.timeoutMsMax)),
  leaseMs: optional(leaseMs),
  maxAttempts: optional(whole(1, LIMITS.maxAttempts)),
  retry: optional(
    fields({
      mode: optional(Type.Enum(['requeue', 'lineage'])),
      max: optional(whole(0, LIMITS.maxAttempts)),
      backoffMs: optional(whole(0, LIMITS.backoffMsMax)),
    }),
  ),
  uniqueKey: optional(label(LIMITS.uniqueKeyChars)),
  after: optional(list(Dependency, LIMITS.dependencies)),
  pool: optional(Name),
  concurrencyKey: optional(label(LIMITS.nameChars)),
  parentId: optional(id),
});
export type NewJobBody = Static<typeof NewJob>;

export const NewJobs = fields({ jobs: list(NewJob, LIMITS.batchJobs, 1) });

export const ListQuery = fields({
  status: optional(Type.Enum([...SPINE_STATUSES])),
  state: optional(Type.Enum([...STATES])),
  target: optional(Name),
  queue: optional(Name),
  type: optional(Name),
  tag: optional(label(LIMITS.nameChars)),
  order: optional(Type.Enum(['oldest', 'newest'])),
  cursor: optional(whole(0, Number.MAX_SAFE_INTEGER)),
  limit: optional(whole(1, LIMITS.pageJobs)),
});
export const PageQuery = fields({
  after: optional(whole(0, Number.MAX_SAFE_INTEGER)),
  limit: optional(whole(1, LIMITS.pageJobs)),
});

export const ClaimBody = fields({ leaseMs: optional(leaseMs), claimId: optional(label(LIMITS.nameChars)) });
export const ClaimNextBody = fields({
  target: optional(Name),
  targets: optional(list(Name, LIMITS.claimTargets, 1)),
  types: optional(list(Name, LIMITS.claimTypes, 1)),
  max: optional(whole(1, LIMITS.claimJobs)),
  waitMs: optional(whole(0, LIMITS.claimWaitMs)),
  leaseMs: optional(leaseMs),
  claimId: optional(label(LIMITS.nameChars)),
});
export const HeartbeatBody = fields({ progress: optional(json), leaseToken });
export const CompleteBody = fields({ result: optional(json), leaseToken });
export const FailBody = fields({ error: optional(json), requeue: optional(Type.Boolean()), leaseToken });
export const ReleaseBody = fields({ reason: optional(textOrNull(LIMITS.reasonChars)), leaseToken });
export const SnoozeBody = fields({ untilAt: Time, leaseToken });
export const CommentBody = fields({ text: text(LIMITS.commentChars) });
export const CancelBody = fields({ reason: optional(textOrNull(LIMITS.reasonChars)) });
export const NoFields = fields({});

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
});
export const PoolBody = fields({
  capacity: whole(1, LIMITS.poolCapacity),
  perKey: optional(whole(1, LIMITS.poolCapacity)),
});
