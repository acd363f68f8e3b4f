/** The shapes of what is answered. The tests hold every answer against them, and the API's description is made of them. */

import type { TProperties, TSchema } from 'typebox';
import { Refusal } from '../../errors.ts';
import { Type } from '../../typebox.ts';
import { BULK_ACTIONS } from '../../../domain/bulk.ts';
import { OUTCOMES } from '../../../domain/attempts.ts';
import { EVENT_KINDS } from '../../../domain/event.ts';
import { ENDING_VERBS, RETRY_MODES } from '../../../domain/job-fields.ts';
import { STATES } from '../../../domain/job.ts';
import { QUESTION_STATUSES } from '../../../domain/question.ts';
import { GRANTED_KINDS, MESSAGE_KINDS } from '../../../domain/message.ts';
import { SPINE_STATUSES } from '../../../domain/statuses.ts';
import { TypeScoring } from '../../fields.ts';
import { shownSchemas } from './job-fields.ts';

const optional = Type.Optional;
const text = Type.String();
const whole = Type.Integer();
const flag = Type.Boolean();
const json = Type.Unknown();
const time = Type.String({ format: 'date-time' });
const orNull = (type: string, rest: object = {}) => Type.Unsafe({ type: [type, 'null'], ...rest });
const status = Type.Enum([...SPINE_STATUSES]);
const state = Type.Enum([...STATES]);
const role = Type.Enum(['head', 'worker', 'viewer']);
const listOf = <T extends TSchema>(items: T) => Type.Array(items);
const open = { additionalProperties: true } as const;

const Comment = Type.Object({ t: time, by: text, text });

const jobFields = {
  ...shownSchemas,
  queuedMs: optional({ ...whole, description: 'how long it stood ready before that attempt' }),
  runMs: optional({ ...whole, description: 'how long that attempt took, once it has ended' }),
  status,
  comments: listOf(Comment),
  tags: listOf(text),
  spec: json,
  meta: json,
  result: json,
  error: json,
  type: optional(text),
  title: optional(text),
  description: optional(text),
  params: optional(json),
  budget: optional(json),
  retry: optional(
    Type.Object({
      mode: Type.Enum([...RETRY_MODES]),
      max: whole,
      backoffMs: orNull('integer'),
      count: whole,
    }),
  ),
  retryOf: optional(text),
  parentId: optional(text),
  releaseReason: optional(text),
  warning: optional({ ...text, description: 'to whoever has made it: why nobody does it now' }),
} satisfies TProperties;

/** What others have sent to whoever holds the job. */
const Mail = Type.Object({
  id: text,
  from_agent: text,
  to_agent: text,
  kind: Type.Enum([...MESSAGE_KINDS]),
  subject: orNull('string'),
  body: text,
  priority: whole,
  owner: orNull('string'),
  reply_to: orNull('string'),
  created_at: time,
  expires_at: orNull('string', { format: 'date-time' }),
});
const holderFields = { leaseToken: text, attempt: whole };
/** What earlier holders left. */
const handedOn = {
  answers: optional(listOf(Type.Object({ question: text, answer: json, by: text, at: time }))),
  answersLeftOut: optional(flag),
  checkpoint: optional(json),
  inputs: optional(
    Type.Object({}, { ...open, description: 'the results of the jobs that it waited for, by their ids' }),
  ),
  inputsLeftOut: optional(listOf(text)),
};
const outcome = optional(Type.Object({ verb: Type.Enum([...ENDING_VERBS]), status }));

export const Job = Type.Object(jobFields);
/** To whoever waited: whether it has ended and no retry will come, and which job is the last of its lineage. */
export const AwaitedJob = Type.Object({ ...jobFields, ended: optional(flag), lastOfLineage: optional(text) });
export const ClaimedJob = Type.Object({
  ...jobFields,
  ...holderFields,
  ...handedOn,
  sop: optional(orNull('string')),
  schema: optional(json),
  messages: optional(listOf(Mail)),
});
/** A repeated call says how the first one ended. */
export const EndedJob = Type.Object({ ...jobFields, outcome });
/** For a caller that prefers `return=minimal`. */
const EndedBrief = Type.Object({ id: text, no: whole, status, state, outcome });
export const Question = Type.Object({
  id: text,
  jobId: text,
  title: optional(text),
  question: text,
  to: text,
  choices: optional(listOf(text)),
  schema: optional(json),
  default: optional(json),
  askedBy: text,
  askedAt: time,
  expiresAt: time,
  status: Type.Enum([...QUESTION_STATUSES]),
  answer: optional(json),
  answeredBy: optional(text),
  answeredAt: optional(time),
});
export const Questions = Type.Object({ questions: listOf(Question), nextBefore: orNull('integer') });
export const AskedJob = Type.Object({ ...jobFields, outcome, asked: optional(Question) });
/** The answer to a heartbeat is how a worker hears from the others. */
export const Beat = Type.Object({ ...jobFields, cancelRequested: flag, messages: listOf(Mail) });

export const JobBatch = Type.Object({ jobs: listOf(Job) });
export const JobList = Type.Object({
  jobs: listOf(Job),
  nextCursor: optional(orNull('string')),
  truncated: optional(flag),
});
export const Claimed = Type.Object({ jobs: listOf(ClaimedJob), messages: listOf(Mail) });
const Ended = Type.Union([EndedJob, EndedBrief]);
const EndedAndNext = Type.Object({ job: Ended, next: listOf(ClaimedJob) });
export const EndedMaybeNext = Type.Union([EndedJob, EndedBrief, EndedAndNext]);

export const BatchResults = Type.Object({
  results: listOf(
    Type.Union([
      Type.Object({ id: text, ok: Type.Literal(true), job: Ended }),
      Type.Object({ id: text, ok: Type.Literal(false), ...Refusal.properties }, open),
    ]),
  ),
  next: optional(listOf(ClaimedJob)),
});

const eventFields = { seq: whole, t: time, type: Type.Enum([...EVENT_KINDS]), by: text };
/** Beside the fixed fields, every kind of event has facts of its own. */
const JobEvent = Type.Object(eventFields, open);
/** The `after` of the next page; null when there is none. */
const nextAfter = orNull('integer');
export const JobEvents = Type.Object({ events: listOf(JobEvent), nextAfter });
export const Attempts = Type.Object({
  attempts: listOf(
    Type.Object({
      attempt: whole,
      by: text,
      startedAt: time,
      endedAt: orNull('string', { format: 'date-time' }),
      queuedMs: orNull('integer', { description: 'how long the job stood ready before it' }),
      runMs: orNull('integer', { description: 'how long it took; null while it runs' }),
      outcome: Type.Enum([...OUTCOMES]),
    }),
  ),
  truncated: optional(flag),
});
export const JobComments = Type.Object({
  comments: listOf(Type.Object({ seq: whole, t: time, by: text, text })),
  nextAfter,
});
/** The `data` of one event of the stream. */
export const FeedEvent = Type.Object({ jobId: text, no: whole, ...eventFields, target: text }, open);

export const LogsAccepted = Type.Object({ accepted: whole, cancelRequested: flag });
export const Logs = Type.Object({
  logs: listOf(
    Type.Object({
      no: whole,
      attempt: whole,
      t: time,
      level: Type.Enum(['debug', 'info', 'warn', 'error']),
      text,
    }),
  ),
  nextAfter,
});

const blobFields = { id: text, filename: text, size: whole, sha256: text };
export const Stored = Type.Object({ ...blobFields, path: text });
export const Artifacts = Type.Object({
  blobs: listOf(Type.Object({ ...blobFields, contentType: text, createdAt: time, createdBy: text })),
  nextAfter: orNull('string'),
});
export const Bytes = Type.String({ format: 'binary' });

export const JobType = Type.Object({
  name: text,
  label: text,
  sop: orNull('string'),
  paramsSchema: json,
  maxRetries: orNull('integer'),
  retry: Type.Object({ backoffMs: orNull('integer') }),
  scoring: Type.Unsafe<object | null>({ ...TypeScoring }),
  provider: orNull('string'),
  active: flag,
  createdAt: time,
  updatedAt: time,
});
export const JobTypes = Type.Object({ types: listOf(JobType), nextAfter: orNull('string') });
export const Pool = Type.Object({
  name: text,
  capacity: whole,
  perKey: whole,
  running: whole,
  waiting: whole,
});
export const Pools = Type.Object({ pools: listOf(Pool) });
const count = (description: string) => ({ ...whole, description });
export const BulkAnswer = Type.Object({
  id: optional(text),
  action: Type.Enum([...BULK_ACTIONS]),
  count: count('how many jobs fitted when it was asked for'),
  dryRun: optional({ ...Type.Literal(true), description: 'nothing was changed' }),
  state: optional(Type.Enum(['running', 'done', 'cancelled'])),
  changed: optional(count('how many were changed so far')),
  refused: optional(count('how many could not be changed')),
  createdAt: optional(time),
  createdBy: optional(text),
  endedAt: optional(orNull('string', { format: 'date-time' })),
});
export const BulkList = Type.Object({ bulks: { ...listOf(BulkAnswer), description: 'newest first' } });
export const JobRemoved = Type.Object({ id: text, removed: Type.Literal(true) });
export const PoolRemoved = Type.Object({ name: text, removed: Type.Literal(true) });
const kind = Type.Enum(['target', 'type', 'door', 'provider']);
export const PauseSet = Type.Object({ kind, name: text, paused: flag });
export const Pauses = Type.Object({
  pauses: listOf(Type.Object({ kind, name: text, since: time, by: text, until: orNull('string') })),
});
export const Stats = Type.Object({
  states: Type.Object(Object.fromEntries(STATES.map((name) => [name, whole]))),
  targets: Type.Object({}, { additionalProperties: { type: 'object', additionalProperties: whole } }),
  waitingClaims: whole,
});

const number = { type: 'number' } as const;
const took = { inputTokens: whole, outputTokens: whole, totalTokens: whole, costUsd: number };
export const UsageByDay = Type.Object({
  days: listOf(
    Type.Object({
      day: text,
      types: listOf(Type.Object({ type: orNull('string'), attempts: whole, ...took })),
      advice: Type.Object({ calls: whole, inputTokens: whole, outputTokens: whole }),
    }),
  ),
});
export const JobUsage = Type.Object({
  attempts: listOf(Type.Object({ claim: whole, t: time, ...took })),
});
const budgetFields = { type: text, tokens: orNull('number'), costUsd: orNull('number') };
export const BudgetAnswer = Type.Object(budgetFields);
export const Budgets = Type.Object({
  budgets: listOf(
    Type.Object({ ...budgetFields, usedUp: flag, raised: whole, held: flag, used: Type.Object(took) }),
  ),
});

const tokenFields = {
  id: text,
  name: text,
  role,
  targets: orNull('array', { items: text }),
  createdAt: time,
  createdBy: text,
  grants: listOf(Type.Enum([...GRANTED_KINDS])),
};
const Token = Type.Object({ ...tokenFields, revokedAt: orNull('string', { format: 'date-time' }) });
export const Tokens = Type.Object({ tokens: listOf(Token) });
export const NewToken = Type.Object({ token: text, ...tokenFields });
export const TokenRevoked = Type.Object({ token: text, revoked: Type.Literal(true) });
export const AuditEntries = Type.Object({
  entries: listOf(
    Type.Object({ no: whole, t: time, by: text, action: text, subject: text, facts: orNull('object', open) }),
  ),
  nextBefore: orNull('integer'),
});
export const Me = Type.Object({
  name: { ...text, description: 'who you are, as others see it' },
  role: Type.Enum(['head', 'worker', 'viewer', 'run']),
  targets: Type.Unsafe({
    type: ['array', 'null'],
    items: text,
    description: 'which targets you serve; null is all',
  }),
  grants: listOf(text),
  job: optional({ ...text, description: 'the one job that a token of a run is for' }),
  may: listOf({ ...text, description: 'the operationId of a call that you may make' }),
});
export const Settings = Type.Object({
  settings: listOf(Type.Object({ name: text, value: orNull('string'), origin: text })),
});

const healthFields = { ok: flag, status: text, time, version: text };
export const Health = Type.Object(healthFields);
export const Ready = Type.Object({ ok: Type.Literal(true), status: Type.Literal('ready'), version: text });
export const HealthDetails = Type.Object(healthFields, open);
export const Page = Type.String();
export const Description = Type.Object({ openapi: text }, open);

/** Shapes that the description names once and refers to. */
export const NAMED_ANSWERS: Readonly<Record<string, TSchema>> = {
  Job,
  ClaimedJob,
  EndedJob,
  EndedBrief,
  Comment,
  Question,
  JobEvent,
  FeedEvent,
  JobType,
  Pool,
  Token,
  Refusal,
};
