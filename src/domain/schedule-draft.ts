/** From a body of the door to a whole schedule: names, values, defaults, and what fits together. */

import type { ScheduleSpec } from './schedule.ts';
import { isSpecKey, RULES, type SpecKey, snakeName } from './schedule-fields.ts';
import { completeTarget, type DoorFacts } from './schedule-target.ts';
import { completeTrigger, nextProblem } from './schedule-trigger.ts';
import { type Refused, readRequest, refused, type ScheduleRequest } from './schedule-request.ts';

export { isSpecKey, SCHEDULE_FIELDS, type ScheduleField, toSnake } from './schedule-fields.ts';

/** What a body of the door asks for. */
export interface Asked {
  readonly spec: ScheduleSpec;
  readonly enabled: boolean | undefined;
  /** Null when the rule says it. */
  readonly nextRunAt: number | null;
}

export type Completed = ({ readonly ok: true } & Asked) | Refused;

/** `base` is the present spec when one is changed: only named fields change, and null asks for a default again. */
export function completeSchedule(
  draft: Readonly<Record<string, unknown>>,
  base: ScheduleSpec | null,
  facts: DoorFacts,
): Completed {
  const read = readRequest(draft, base);
  if (!read.ok) return read;
  const { request } = read;
  const blank = blankProblem(request, base);
  if (blank !== null) return blank;
  const trigger = completeTrigger(request, base, facts.now);
  if (!trigger.ok) return trigger;
  const target = completeTarget(request, base, facts);
  if (!target.ok) return target;
  const asked = { ...plainFields(request, base), ...trigger.trigger, ...target.target };
  const isTyped = asked.sessionTarget === 'queue' && asked.type !== null;
  const spec = { ...asked, maxRetries: asked.maxRetries ?? (isTyped ? null : 0) };
  const { enabled, nextRunAt } = request;
  return nextProblem(nextRunAt, spec, facts.now) ?? { ok: true, spec, enabled, nextRunAt };
}

/** A name of nothing but spaces finds nothing; the other texts are null instead. */
function blankProblem(request: ScheduleRequest, base: ScheduleSpec | null): Refused | null {
  const { name } = request.spec;
  if ((name === undefined && base === null) || name === null)
    return refused('name', 'name is missing; say what the schedule is called.');
  const blank = (Object.keys(request.spec) as SpecKey[]).find((key) => {
    const value = request.spec[key];
    return typeof value === 'string' && value.trim() === '' && key !== 'payloadMessage';
  });
  if (blank === undefined) return null;
  return refused(blank, `${snakeName(blank)} is empty; write something, or leave it out.`);
}

/** Those that depend on nothing: as requested, as they were, or the default. */
function plainFields(request: ScheduleRequest, base: ScheduleSpec | null): ScheduleSpec {
  const fields: Partial<Record<SpecKey, unknown>> = {};
  for (const key of Object.keys(RULES) as (keyof typeof RULES)[]) {
    if (!isSpecKey(key)) continue;
    const value = request.spec[key] === undefined ? base?.[key] : request.spec[key];
    fields[key] = value ?? RULES[key].default;
  }
  // Every key of the spec has a rule, and every rule a default of its type.
  return fields as unknown as ScheduleSpec;
}
