/** The shapes of requests and answers. A task may have any further fields: they are kept in its metadata. */

import type { Static } from 'typebox';
import { LIMITS } from '../../../domain/limits.ts';
import { TASK_STATUSES } from '../../../domain/statuses.ts';
import { SLOT_STATUSES } from '../../../domain/worker-slot.ts';
import { fields, optional, textOrNull, whole } from '../../fields.ts';
import { Type } from '../../typebox.ts';
import { PRIORITY_WORDS, STATUS_WORDS, TEXT_CHARS } from './words.ts';

const text = (max: number, min = 1) => Type.String({ minLength: min, maxLength: max });
const texts = (count: number, max: number) => Type.Array(text(max), { maxItems: count });
const anything = Type.Unknown();
const object = Type.Unsafe<Record<string, unknown>>({ type: 'object', must: 'an object' });

const STEPS = 200;
const STEP_CHARS = 4_000;

const Status = Type.Enum(STATUS_WORDS);
const Name = Type.String({
  maxLength: LIMITS.nameChars,
  pattern: '^[\\p{L}\\p{N}][\\p{L}\\p{N}._:@-]*$',
  must: `a name of 1 to ${LIMITS.nameChars} letters, digits and . _ : @ -, beginning with a letter or digit`,
});
const Owner = Type.Unsafe<string | null>({ ...Name, type: ['string', 'null'] });
const Priority = Type.Unsafe<number | string>({
  anyOf: [whole(-LIMITS.priority, LIMITS.priority), Type.Enum(PRIORITY_WORDS)],
  must: `a whole number, or one of ${PRIORITY_WORDS.join(', ')}`,
});
const Lines = Type.Unsafe<string | string[]>({
  anyOf: [text(TEXT_CHARS, 0), texts(STEPS, STEP_CHARS)],
  must: `text of up to ${TEXT_CHARS} characters, or a list of texts`,
});

const TASK_FIELDS = {
  status: optional(Status),
  lane: optional(Status),
  priority: optional(Priority),
  owner: optional(Owner),
  assignee: optional(Owner),
  description: optional(text(TEXT_CHARS, 0)),
  problem: optional(text(TEXT_CHARS, 0)),
  instructions: optional(Lines),
  scope: optional(Lines),
  deliverables: optional(Lines),
  acceptanceCriteria: optional(Lines),
  steps: optional(texts(STEPS, STEP_CHARS)),
  workingDir: optional(text(4_000)),
  model: optional(text(200)),
  thinking: optional(text(50)),
  channel: optional(text(100)),
  timeoutMs: optional(whole(1, LIMITS.timeoutMsMax)),
  blockedBy: optional(Type.Array(text(LIMITS.nameChars), { maxItems: LIMITS.dependencies })),
  announce: optional(Type.Boolean()),
  metadata: optional(object),
  note: optional(textOrNull(LIMITS.reasonChars)),
} as const;

export const NewTask = Type.Object(
  { title: text(LIMITS.titleChars), ...TASK_FIELDS },
  { additionalProperties: true },
);
export type NewTaskBody = Static<typeof NewTask> & Readonly<Record<string, unknown>>;
export const TaskChange = Type.Object(
  { title: optional(text(LIMITS.titleChars)), ...TASK_FIELDS },
  { additionalProperties: true },
);
export type TaskChangeBody = Static<typeof TaskChange> & Readonly<Record<string, unknown>>;

export const TasksQuery = fields({
  status: optional(Status),
  lane: optional(Status),
  owner: optional(Name),
  assignee: optional(Name),
});
export type TasksQueryFields = Static<typeof TasksQuery>;

export const Task = Type.Object(
  {
    id: Type.String(),
    title: Type.String(),
    owner: Type.Unsafe<string | null>({ type: ['string', 'null'] }),
    status: Type.Enum([...TASK_STATUSES]),
    lane: Type.String(),
    priority: Type.Integer(),
    createdAt: Type.Integer(),
    updatedAt: Type.Integer(),
    blockedBy: Type.Array(Type.String()),
    metadata: object,
  },
  { additionalProperties: true },
);
export const Tasks = Type.Array(Task);

const Label = Type.String({
  minLength: 1,
  maxLength: LIMITS.sessionIdChars,
  pattern: '^\\P{Cc}+$',
  must: `text of 1 to ${LIMITS.sessionIdChars} printable characters`,
});
export const SpawnBody = Type.Object(
  {
    sessionLabel: Label,
    prompt: text(500_000),
    channel: optional(text(100)),
    model: optional(text(200)),
    thinking: optional(text(50)),
    autoStart: optional(Type.Boolean()),
    workingDir: optional(text(4_000)),
    timeoutMs: optional(whole(1, LIMITS.timeoutMsMax)),
  },
  { additionalProperties: false },
);

export const Session = Type.Object(
  {
    id: Type.String(),
    status: Type.Enum(['queued', 'running', 'completed', 'failed', 'terminated']),
    completed: Type.Boolean(),
    error: Type.Unsafe<string | null>({ type: ['string', 'null'] }),
    jobId: Type.String(),
  },
  { additionalProperties: true },
);
export const Sessions = Type.Array(Session);
export const SessionsQuery = fields({ label: optional(Label) });
export type SessionsQueryFields = Static<typeof SessionsQuery>;
export const EndedSession = Type.Object({ ok: Type.Boolean(), session: Session });

export const SlotParams = Type.Object({ slot: Name });
const instance = text(100);
export const StartBody = fields({
  slot: Name,
  instance,
  gone: optional(textOrNull(100)),
  metadata: optional(object),
});
export const BeatBody = fields({
  slot: Name,
  instance,
  status: Type.Enum([...SLOT_STATUSES]),
  task: optional(textOrNull(LIMITS.nameChars)),
  attempt: optional(Type.Unsafe<number | null>({ ...whole(0, 1_000_000), type: ['integer', 'null'] })),
  taskTitle: optional(textOrNull(LIMITS.titleChars)),
  sessionId: optional(textOrNull(LIMITS.sessionIdChars)),
  metadata: optional(object),
});

export const Heartbeat = Type.Object(
  {
    slot: Type.String(),
    status: Type.Enum([...SLOT_STATUSES]),
    lastUpdate: Type.Integer(),
    startedAt: Type.Integer(),
    metadata: object,
  },
  { additionalProperties: true },
);
export const Heartbeats = Type.Object({
  workers: Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: Heartbeat }),
});
export const Started = Type.Object(
  { heartbeat: Heartbeat, staleMs: Type.Integer(), recovered: textOrNull(LIMITS.nameChars) },
  { additionalProperties: true },
);
export const Removed = Type.Object({ ok: Type.Boolean() });

export const Live = Type.Object(
  {
    updatedAt: Type.Integer(),
    status: Type.Enum(['ok', 'attention']),
    workers: Type.Array(anything),
    blockers: Type.Array(anything),
    watchdog: object,
  },
  { additionalProperties: true },
);
