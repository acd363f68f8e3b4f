/** A body of the door, read field by field: what is asked for, not yet whether it fits together. */

import type { ScheduleSpec } from './schedule.ts';
import { RULES, type ScheduleKey, type SpecKey, snakeName, TZ_CHARS } from './schedule-fields.ts';
import { type Given, namedFields } from './schedule-names.ts';
import { readValue } from './schedule-values.ts';
import { isZone } from './time-zone.ts';

export interface Refused {
  readonly ok: false;
  readonly field: string;
  readonly problem: string;
}

/** Only named fields are present. Null asks for the default again. */
export interface ScheduleRequest {
  readonly spec: { readonly [K in SpecKey]?: ScheduleSpec[K] | null };
  readonly enabled: boolean | undefined;
  /** A time counted from now. */
  readonly inMs: number | null;
  readonly nextRunAt: number | null;
  /** `command` was written where others write `payload_message`. */
  readonly byCommand: boolean;
}

export function refused(key: ScheduleKey, problem: string): Refused {
  return { ok: false, field: snakeName(key), problem };
}

export function readRequest(
  draft: Readonly<Record<string, unknown>>,
  base: ScheduleSpec | null,
): { readonly ok: true; readonly request: ScheduleRequest } | Refused {
  const named = namedFields(draft);
  if (!named.ok) return named;
  const zone = readZone(named.given.get('scheduleTz'), base);
  if (typeof zone !== 'string') return zone;
  const values = new Map<ScheduleKey, unknown>();
  for (const [key, { value }] of named.given) {
    // Undefined was left out before; null is the same in every field.
    const read = value === null ? { ok: true as const, value } : readValue(RULES[key], value, zone);
    if (!read.ok) return refused(key, `${snakeName(key)} must ${read.must}.`);
    values.set(key, read.value);
  }
  const { enabled, in: inMs, nextRunAt, ...spec } = Object.fromEntries(values);
  // Each value was read by the rule of its key, and the rules are tied to the spec.
  const request = {
    spec,
    enabled: enabled ?? undefined,
    inMs: inMs ?? null,
    nextRunAt: nextRunAt ?? null,
  } as Omit<ScheduleRequest, 'byCommand'>;
  const byCommand = named.given.get('payloadMessage')?.written === 'command';
  return { ok: true, request: { ...request, byCommand } };
}

/** Read first: a time without an offset is one of this zone. */
function readZone(given: Given | undefined, base: ScheduleSpec | null): string | Refused {
  const value = given === undefined ? base?.scheduleTz : given.value;
  const zone = value ?? RULES.scheduleTz.default;
  if (typeof zone !== 'string') return refused('scheduleTz', 'schedule_tz must be text.');
  if (isZone(zone)) return zone;
  const start = JSON.stringify(zone.slice(0, TZ_CHARS));
  return refused(
    'scheduleTz',
    `schedule_tz ${start} is not a known time zone; use a name such as UTC or Europe/Stockholm.`,
  );
}
