/** The shapes of what is answered about schedules, runs and approvals. */

import type { TProperties, TSchema } from 'typebox';
import { Type } from '../../typebox.ts';
import { isSpecKey, SCHEDULE_FIELDS, type ScheduleField } from '../../../domain/schedule-draft.ts';
import { RUN_STATUSES } from '../../../domain/statuses.ts';
import { Delivery } from './delivery-schemas.ts';
import { APPROVAL_STATUSES } from './schemas.ts';

const text = Type.String();
const whole = Type.Integer();
const flag = Type.Boolean();
const time = Type.String({ format: 'date-time' });
const orNull = (type: string, rest: object = {}) => Type.Unsafe({ type: [type, 'null'], ...rest });
const textOrNull = orNull('string');
const timeOrNull = orNull('string', { format: 'date-time' });
const listOf = <T extends TSchema>(items: T) => Type.Array(items);
const statusOrNull = Type.Unsafe({ enum: [...RUN_STATUSES, null] });
const open = { additionalProperties: true } as const;

/** Without a default in the table, and yet never null: other fields decide. */
const ALWAYS_SET = new Set(['name', 'schedule_kind', 'gateway', 'payload_kind']);

function shownAs(field: ScheduleField): TSchema {
  const set = field.default !== null || ALWAYS_SET.has(field.name);
  switch (field.type) {
    case 'text':
      return set ? text : textOrNull;
    case 'integer':
      return set ? whole : orNull('integer');
    case 'boolean':
      return flag;
    case 'choice':
      return Type.Unsafe({ enum: set ? [...field.values] : [...field.values, null] });
    case 'time':
      return timeOrNull;
    case 'duration':
      return orNull('integer');
    case 'json':
      return Type.Unknown();
    case 'names':
      return Type.Unsafe({ type: ['array', 'null'], items: { type: 'string' } });
  }
}

const scheduleFields: TProperties = {
  id: text,
  enabled: flag,
  ...Object.fromEntries(
    SCHEDULE_FIELDS.filter(({ key }) => isSpecKey(key)).map((field) => [field.name, shownAs(field)]),
  ),
  /** When it fires, as a sentence. */
  rule: text,
  next_run_at: timeOrNull,
  last_run_at: timeOrNull,
  last_status: statusOrNull,
  consecutive_errors: whole,
  run_count: whole,
  queued_count: whole,
  created_at: time,
  created_by: text,
  updated_at: time,
  spawned_by: textOrNull,
};
export const Schedule = Type.Object(scheduleFields);
export const Schedules = Type.Object({ schedules: listOf(Schedule), next_after: orNull('integer') });
export const CancelledSchedule = Type.Object({
  ...scheduleFields,
  cancelled_schedules: listOf(text),
  cancelled_runs: listOf(text),
});
export const ScheduleDeleted = Type.Object({
  id: text,
  deleted: Type.Literal(true),
  deleted_schedules: listOf(text),
  cancelled_runs: listOf(text),
});
/** Holds itself, so it can only be named. */
const ScheduleNode = Type.Object({
  id: text,
  name: text,
  enabled: flag,
  rule: text,
  trigger_on: Type.Unsafe({ enum: ['success', 'failure', 'complete', null] }),
  next_run_at: timeOrNull,
  last_status: statusOrNull,
  children: listOf(Type.Unsafe({ $ref: '#/components/schemas/ScheduleNode' })),
});
export const ScheduleTree = Type.Object({ schedules: listOf(ScheduleNode) });
export const RunStarted = Type.Object({
  run_id: text,
  status: Type.Enum([...RUN_STATUSES]),
  reason: textOrNull,
});
export const Preview = Type.Object({ rule: text, next_runs: listOf(time) });
export const PutSchedule = Type.Object({
  ...scheduleFields,
  action: Type.Enum(['create', 'change', 'unchanged']),
});
const FieldChange = Type.Object({ field: text, from: Type.Unknown(), to: Type.Unknown() });
export const AppliedSet = Type.Object({
  dry_run: flag,
  managed_by: text,
  results: listOf(
    Type.Object({
      kind: Type.Enum(['schedule', 'type', 'pool']),
      name: text,
      id: textOrNull,
      action: Type.Enum(['create', 'change', 'unchanged', 'prune', 'extra']),
      changes: listOf(FieldChange),
    }),
  ),
});
export const Missed = Type.Object({
  missed: listOf(
    Type.Object({ from: time, until: time, count: whole, reason: textOrNull, recorded_at: time }),
  ),
});

export const Run = Type.Object({
  id: text,
  job_id: text,
  status: Type.Enum([...RUN_STATUSES]),
  started_at: timeOrNull,
  finished_at: timeOrNull,
  duration_ms: orNull('integer'),
  summary: textOrNull,
  output: textOrNull,
  error_message: textOrNull,
  last_heartbeat: timeOrNull,
  session_key: textOrNull,
  triggered_by_run: textOrNull,
  retry_of: textOrNull,
  retry_count: whole,
  replay_of: textOrNull,
  context_summary: orNull('object', open),
  prompt_hash: textOrNull,
  usage: orNull('object', open),
  kind: Type.Enum(['cron', 'catch_up', 'manual', 'chain', 'spawn', 'retry', 'replay']),
  due_at: timeOrNull,
  reason: textOrNull,
  created_at: time,
  /** Only of one run, not in lists. */
  deliveries: Type.Optional(listOf(Delivery)),
});
export const RunPrompt = Type.Object({ run_id: text, prompt: text, prompt_hash: text });
export const Runs = Type.Object({ runs: listOf(Run), next_before: orNull('integer') });
export const StaleRuns = Type.Object({ runs: listOf(Run) });

export const Approval = Type.Object({
  id: text,
  job_id: textOrNull,
  run_id: text,
  title: textOrNull,
  status: Type.Enum([...APPROVAL_STATUSES]),
  requested_at: timeOrNull,
  expires_at: timeOrNull,
  timeout_s: whole,
  auto: Type.Enum(['approve', 'reject']),
  hash: text,
  resolved_at: timeOrNull,
  resolved_by: textOrNull,
  notes: textOrNull,
});
/** The `before` of the next page; null when there is none. */
const next_before = orNull('integer');
export const Approvals = Type.Object({ approvals: listOf(Approval), next_before });

/** Shapes that the description names once and refers to. */
export const NAMED_ANSWERS: Readonly<Record<string, TSchema>> = {
  Schedule,
  ScheduleNode,
  Run,
  Approval,
};
