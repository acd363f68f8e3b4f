/** What requests about schedules, runs, approvals and messages must look like. */

import type { TObject, TSchema } from 'typebox';
import {
  fields,
  optional,
  textOrNull,
  TypeProvider,
  TypeMaxRetries,
  TypeRetry,
  TypeScoring,
  whole,
} from '../../fields.ts';
import { Type } from '../../typebox.ts';
import { LIMITS } from '../../../domain/limits.ts';
import { SCHEDULE_FIELDS, type ScheduleField } from '../../../domain/schedule-draft.ts';
import { RUN_STATUSES } from '../../../domain/statuses.ts';

const limit = optional(whole(1, LIMITS.pageJobs));
const place = optional(whole(0, Number.MAX_SAFE_INTEGER));

/** A schedule is read by the domain, field by field: it knows what was meant, and says so in a sentence. */
export const ScheduleBody = Type.Unsafe<Record<string, unknown>>({ type: 'object', must: 'an object' });

/** What the domain takes, for the description. */
export const NewSchedule = scheduleShape(['name'], shapeOf);
/** What is not named stays: a program that fills in defaults would change it. */
export const ScheduleChange = scheduleShape([], (field, isRequired) => {
  const { default: _, ...rest } = shapeOf(field, isRequired) as { default?: unknown };
  return rest;
});

function scheduleShape(required: readonly string[], shape: typeof shapeOf): TSchema {
  return Type.Unsafe({
    type: 'object',
    required,
    properties: Object.fromEntries(
      SCHEDULE_FIELDS.map((field) => [field.name, shape(field, required.includes(field.name))]),
    ),
    // The same fields under their other names. Programs that are made from the description trip over references into a shape.
    patternProperties: Object.fromEntries(
      SCHEDULE_FIELDS.flatMap((field) =>
        [field.key, ...(field.synonyms ?? [])]
          .filter((other) => other !== field.name)
          .map((other) => [`^${other}$`, shape(field, false)]),
      ),
    ),
    additionalProperties: false,
  });
}

/** Null asks for the default, which a field that must be given does not have. */
function shapeOf(field: ScheduleField, isRequired: boolean): object {
  const { help: description, default: preset } = field;
  const about = { description, ...(preset !== null && { default: preset }) };
  const typed = (...types: string[]) => ({ type: isRequired ? types[0] : [...types, 'null'] });
  switch (field.type) {
    case 'text':
      return {
        ...typed('string'),
        maxLength: field.maxChars,
        ...(field.shape && { pattern: field.shape.pattern.source }),
        ...about,
      };
    case 'integer':
      return { ...typed('integer'), minimum: field.min, maximum: field.max, ...about };
    case 'boolean':
      return { type: ['boolean', 'integer', 'null'], minimum: 0, maximum: 1, ...about };
    case 'choice':
      return { enum: [...field.values, null], ...about };
    case 'time':
      return {
        ...typed('string', 'integer'),
        ...about,
        description: `${description} An ISO 8601 time, or epoch milliseconds.`,
      };
    case 'duration':
      return { ...typed('integer', 'string'), minimum: field.min, maximum: field.max, ...about };
    case 'json':
      return about;
    case 'names': {
      const items = { type: 'string', minLength: 1, maxLength: LIMITS.nameChars };
      return { ...typed('array'), items, maxItems: field.max, ...about };
    }
  }
}

const setName = Type.String({
  maxLength: LIMITS.nameChars,
  pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$',
  must: 'letters, digits and . _ -, beginning with a letter or digit',
});
const settingName = Type.String({ minLength: 1, maxLength: LIMITS.nameChars });
/** A set of schedules as somebody keeps them; each is read by the domain. */
export const ApplyBody = fields({
  name: setName,
  schedules: Type.Array(ScheduleBody, { maxItems: LIMITS.appliedSchedules }),
  types: optional(
    Type.Array(
      fields({
        name: settingName,
        label: optional(Type.String({ minLength: 1, maxLength: LIMITS.titleChars })),
        sop: optional(textOrNull(LIMITS.sopChars)),
        paramsSchema: optional(Type.Unknown()),
        retry: optional(TypeRetry),
        scoring: optional(TypeScoring),
        provider: optional(TypeProvider),
        maxRetries: optional(TypeMaxRetries),
      }),
      { maxItems: LIMITS.appliedSettings },
    ),
  ),
  pools: optional(
    Type.Array(
      fields({
        name: settingName,
        capacity: whole(1, LIMITS.poolCapacity),
        perKey: optional(whole(1, LIMITS.poolCapacity)),
      }),
      { maxItems: LIMITS.appliedSettings },
    ),
  ),
  prune: optional(Type.Boolean()),
  dry_run: optional(Type.Boolean()),
});

export const ScheduleParams: TObject = Type.Object({
  id: Type.String({ maxLength: LIMITS.nameChars, must: 'the id of a schedule, or the beginning of one' }),
});
export const SchedulesQuery = fields({ enabled: optional(Type.Boolean()), after: place, limit });
export const DryRunQuery = fields({ dry_run: optional(Type.Boolean()) });
export const CancelQuery = fields({ cascade: optional(Type.Boolean()) });
export const PreviewQuery = fields({ n: optional(whole(1, LIMITS.previewTicks)) });
export const LimitQuery = fields({ limit });

export const RunsQuery = fields({ status: optional(Type.Enum([...RUN_STATUSES])), before: place, limit });
export const RunsOfQuery = fields({ before: place, limit });
export const CancelBody = fields({ reason: optional(textOrNull(LIMITS.reasonChars)) });
export const StaleQuery = fields({ threshold_s: optional(whole(1, 30 * 86_400)), limit });

export const APPROVAL_STATUSES = ['pending', 'approved', 'rejected', 'timed_out'] as const;
export const ApprovalsQuery = fields({
  status: optional(Type.Enum([...APPROVAL_STATUSES])),
  before: place,
  limit,
});
const verdict = {
  reason: optional(textOrNull(LIMITS.reasonChars)),
  /** Through which door the word came: a person's command says `operator`. */
  by: optional(Type.Enum(['operator', 'api'])),
};
export const VerdictBody = fields({
  ...verdict,
  hash: optional(
    Type.String({
      maxLength: 64,
      pattern: '^[0-9a-f]{64}$',
      must: 'the hash that the approval shows, 64 hexadecimal digits',
    }),
  ),
});
export const VerdictOfBody = fields(verdict);
