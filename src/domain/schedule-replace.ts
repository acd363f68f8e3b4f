/** A whole schedule under a name: what is not said has its default again, so that the same text always means the same. */

import { isJsonObject } from './json-object.ts';
import { type ScheduleSpec, type Schedule } from './schedule.ts';
import { SCHEDULE_FIELDS, type ScheduleKey, snakeName, type SpecKey, toSnake } from './schedule-fields.ts';
import { namedFields } from './schedule-names.ts';

/** Kept unless they are named: whether it is switched on is an operator's word, and the mark is its maker's. */
const KEPT: ReadonlySet<ScheduleKey> = new Set<ScheduleKey>(['enabled', 'in', 'nextRunAt', 'managedBy']);

/** A change that leaves nothing of the present schedule but what `KEPT` names. A draft with a wrong name stays as it is. */
export function wholeDraft(draft: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const named = namedFields(draft);
  if (!named.ok) return draft;
  const rest = SCHEDULE_FIELDS.filter(({ key }) => !named.given.has(key) && !KEPT.has(key));
  const whole = { ...draft, ...Object.fromEntries(rest.map(({ name }) => [name, null])) };
  // Whoever writes `command` need not say that it is for the shell.
  const byCommand = named.given.get('payloadMessage')?.written === 'command';
  return byCommand && !named.given.has('sessionTarget') ? { ...whole, session_target: 'shell' } : whole;
}

export interface FieldChange {
  readonly field: string;
  readonly from: unknown;
  readonly to: unknown;
}

/** What differs, in the words of the door; nothing when they are the same. */
export function fieldChanges(
  before: Pick<Schedule, 'spec' | 'enabled'>,
  after: Pick<Schedule, 'spec' | 'enabled'>,
): FieldChange[] {
  const [from, to] = [toSnake(before.spec), toSnake(after.spec)];
  const keys = Object.keys(after.spec) as SpecKey[];
  const changes = keys
    .filter((key) => !isSame(before.spec, after.spec, key))
    .map((key) => snakeName(key))
    .map((field) => ({ field, from: from[field] ?? null, to: to[field] ?? null }));
  return before.enabled === after.enabled
    ? changes
    : [...changes, { field: 'enabled', from: before.enabled, to: after.enabled }];
}

/** Only `params` and `budget` are more than one value; the order of its names says nothing. */
function isSame(before: ScheduleSpec, after: ScheduleSpec, key: SpecKey): boolean {
  return sorted(before[key]) === sorted(after[key]);
}

function sorted(value: unknown): string {
  return JSON.stringify(value ?? null, (_, inner: unknown) =>
    isJsonObject(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
