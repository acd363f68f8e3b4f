/** The shapes of requests and answers. Further fields of a body are let be, as its clients are used to. */

import type { Static } from 'typebox';
import { BOT_PRIORITIES } from '../../../domain/bot.ts';
import { LIMITS } from '../../../domain/limits.ts';
import { BOT_STATUSES } from '../../../domain/statuses.ts';
import { fields, optional, textOrNull, TypeProvider, TypeScoring, whole } from '../../fields.ts';
import { Type } from '../../typebox.ts';

const open = { additionalProperties: true } as const;
const text = (max: number, min = 1) => Type.String({ minLength: min, maxLength: max });
const label = (max: number) =>
  Type.String({
    minLength: 1,
    maxLength: max,
    pattern: '^\\P{Cc}+$',
    must: `text of 1 to ${max} printable characters`,
  });
const anything = Type.Unknown();
/** Judged by the route, which has words of its own for it. */
const word = optional(anything);
const objectOrNull = Type.Unsafe<Record<string, unknown> | null>({
  type: ['object', 'null'],
  must: 'an object, or null',
});
const typeNo = Type.Unsafe<number | null>({
  type: ['integer', 'null'],
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  must: 'the id of a task type, a whole number, or null',
});
const maxRetries = Type.Unsafe<number | null>({
  type: ['integer', 'null'],
  minimum: 0,
  maximum: LIMITS.maxAttempts - 1,
  must: `a whole number from 0 to ${LIMITS.maxAttempts - 1}, or null`,
});

export const LoginBody = Type.Object(
  { email: text(LIMITS.emailChars), password: text(LIMITS.passwordChars) },
  open,
);
export const RefreshBody = Type.Object({ refresh_token: text(4_096) }, open);

export const NewWorker = Type.Object(
  {
    email: text(LIMITS.emailChars),
    password: text(LIMITS.passwordChars),
    full_name: label(LIMITS.nameChars),
  },
  open,
);
export const WorkerParams = Type.Object({ id: text(LIMITS.nameChars) });

export const NewType = Type.Object(
  {
    name: word,
    label: label(LIMITS.nameChars),
    sop: optional(textOrNull(LIMITS.sopChars)),
    param_schema: word,
    max_retries: optional(maxRetries),
    scoring: optional(TypeScoring),
    provider: optional(TypeProvider),
  },
  open,
);
export const TypeChange = Type.Object(
  {
    label: optional(Type.Unsafe<string | null>({ ...label(LIMITS.nameChars), type: ['string', 'null'] })),
    sop: optional(textOrNull(LIMITS.sopChars)),
    param_schema: word,
    max_retries: optional(maxRetries),
    scoring: optional(TypeScoring),
    provider: optional(TypeProvider),
  },
  open,
);
export const TypeParams = Type.Object({ id: text(LIMITS.nameChars) });

const tags = Type.Unsafe<string[] | null>({
  type: ['array', 'null'],
  items: label(LIMITS.nameChars),
  maxItems: LIMITS.tags,
  must: `a list of at most ${LIMITS.tags} tags, or null`,
});
const description = optional(textOrNull(LIMITS.descriptionChars));
const assignee = optional(textOrNull(LIMITS.nameChars));
export const NewTask = Type.Object(
  {
    title: label(LIMITS.titleChars),
    description,
    assigned_to: assignee,
    priority: word,
    task_type_id: optional(typeNo),
    params: optional(objectOrNull),
    tags: optional(tags),
    parent_task_id: optional(textOrNull(LIMITS.nameChars)),
  },
  open,
);
export type NewTaskBody = Static<typeof NewTask>;

export const TaskChange = Type.Object(
  {
    title: optional(Type.Unsafe<string | null>({ ...label(LIMITS.titleChars), type: ['string', 'null'] })),
    description,
    assigned_to: assignee,
    status: word,
    priority: word,
    task_type_id: optional(typeNo),
    params: optional(objectOrNull),
  },
  open,
);
export type TaskChangeBody = Static<typeof TaskChange>;

export const TaskParams = Type.Object({ id: text(LIMITS.nameChars) });

const page = {
  limit: optional(whole(1, LIMITS.pageJobs)),
  offset: optional(whole(0, 1_000_000)),
};
export const TasksQuery = fields({
  status: optional(Type.String()),
  assigned_to: optional(Type.String()),
  task_type: optional(Type.String()),
  unassigned: optional(Type.Boolean()),
  retries: optional(Type.Boolean()),
  ...page,
});
export type TasksQueryFields = Static<typeof TasksQuery>;
export const PageFields = fields(page);
export const OwnTasksQuery = fields({ status: optional(Type.String()), ...page });

export const StatusBody = Type.Object(
  {
    status: word,
    increment_retry: optional(
      Type.Unsafe<boolean | null>({ type: ['boolean', 'null'], must: 'true or false' }),
    ),
  },
  open,
);
export const ResultBody = Type.Object({ result: anything }, open);
export const UpdateBody = Type.Object({ content: text(LIMITS.commentChars) }, open);
/** A body that may be empty. */
export const NoBody = Type.Object({}, open);

const nullableText = Type.Unsafe<string | null>({ type: ['string', 'null'] });
const nullableTime = Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'date-time' });
const time = Type.String({ format: 'date-time' });

const UserAnswer = Type.Object({
  id: Type.String(),
  email: Type.String(),
  full_name: Type.String(),
  timezone: Type.String(),
  created_at: time,
  email_verified: Type.Boolean(),
  is_premium: Type.Boolean(),
  is_admin: Type.Boolean(),
  is_worker: Type.Boolean(),
  last_login_at: nullableTime,
  last_activity_at: nullableTime,
});
export const LoginAnswer = Type.Object({
  access_token: Type.String(),
  refresh_token: Type.String(),
  expires_in: Type.Integer(),
  user: UserAnswer,
});
export const LogoutAnswer = Type.Object({ message: Type.String() });

export const BotWorker = Type.Object(
  {
    id: Type.String(),
    email: Type.String(),
    full_name: Type.String(),
    last_login_at: nullableTime,
    last_activity_at: nullableTime,
    created_at: time,
    task_count: Type.Integer(),
    is_online: Type.Boolean(),
    current_task: Type.Unsafe({ type: ['object', 'null'] }),
    completed_today: Type.Integer(),
  },
  open,
);
export const BotTaskType = Type.Object(
  {
    id: Type.Integer(),
    name: Type.String(),
    label: Type.String(),
    sop: nullableText,
    param_schema: anything,
    max_retries: Type.Integer(),
    scoring: anything,
    provider: nullableText,
    is_active: Type.Boolean(),
    created_at: time,
    updated_at: time,
  },
  open,
);
export const BotTask = Type.Object(
  {
    id: Type.String(),
    title: Type.String(),
    description: nullableText,
    assigned_to: nullableText,
    status: Type.Enum([...BOT_STATUSES]),
    priority: Type.Enum(Object.keys(BOT_PRIORITIES)),
    task_type_id: Type.Unsafe<number | null>({ type: ['integer', 'null'] }),
    params: anything,
    result: anything,
    created_by: Type.String(),
    created_at: time,
    updated_at: time,
    started_at: nullableTime,
    completed_at: nullableTime,
    retry_count: Type.Integer(),
    parent_task_id: nullableText,
  },
  open,
);
export const TaskUpdate = Type.Object({
  id: Type.String(),
  task_id: Type.String(),
  content: Type.String(),
  created_by: Type.String(),
  created_by_name: Type.String(),
  created_at: time,
});
export const TaskOrNull = Type.Unsafe<object | null>({ anyOf: [BotTask, { type: 'null' }] });

export const DataBody = Type.Object({ data_type: word, items: word }, open);
const pageOfData = { limit: optional(whole(1, 1_000)), offset: optional(whole(0, 1_000_000)) };
export const DataQuery = fields({
  data_type: optional(text(LIMITS.nameChars)),
  ticker: optional(text(LIMITS.nameChars)),
  ...pageOfData,
});
export type DataQueryFields = Static<typeof DataQuery>;
export const DataFileQuery = fields({ key: optional(Type.String({ maxLength: 1_024 })) });
export type DataFileQueryFields = Static<typeof DataFileQuery>;

export const FileBody = Type.Object(
  {
    filename: label(LIMITS.nameChars * 2),
    s3_key: text(1_024),
    content_type: optional(textOrNull(LIMITS.nameChars * 2)),
    size_bytes: optional(whole(0, Number.MAX_SAFE_INTEGER)),
  },
  open,
);
export const FilesQuery = fields(pageOfData);
export type FilesQueryFields = Static<typeof FilesQuery>;
export const FileParams = Type.Object({ id: text(LIMITS.nameChars), fileId: text(LIMITS.nameChars) });
