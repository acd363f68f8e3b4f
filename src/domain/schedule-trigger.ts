/** What makes a schedule fire: exactly one of a clock, a parent, or a hand. */

import { conditionProblem } from './condition.ts';
import { cronProblem } from './cron.ts';
import { isoTime } from './iso-time.ts';
import type { ScheduleKind, ScheduleSpec } from './schedule.ts';
import { snakeName } from './schedule-fields.ts';
import { type Refused, refused, type ScheduleRequest } from './schedule-request.ts';

/** Clocks of callers differ a little; a time that has only just passed fires at once. */
const PAST_MS = 60_000;

const TRIGGER_KEYS = [
  'scheduleCron',
  'scheduleEveryMs',
  'scheduleAt',
  'parentId',
  'triggerOn',
  'triggerDelayS',
  'triggerCondition',
  'endsAt',
  'maxRuns',
  'jitterS',
] as const;
type TriggerKey = (typeof TRIGGER_KEYS)[number];
export type Trigger = Pick<ScheduleSpec, TriggerKey | 'scheduleKind'>;
type Values = { readonly [K in TriggerKey]?: ScheduleSpec[K] | null };

/** Which fields each kind has, the one that makes it first. An interval may say when it begins. */
const FIELDS: Readonly<Record<ScheduleKind, readonly TriggerKey[]>> = {
  cron: ['scheduleCron', 'endsAt', 'maxRuns', 'jitterS'],
  every: ['scheduleEveryMs', 'scheduleAt', 'endsAt', 'maxRuns', 'jitterS'],
  at: ['scheduleAt'],
  child: ['parentId', 'triggerOn', 'triggerDelayS', 'triggerCondition', 'maxRuns'],
  manual: [],
};

export function completeTrigger(
  request: ScheduleRequest,
  base: ScheduleSpec | null,
  now: number,
): { readonly ok: true; readonly trigger: Trigger } | Refused {
  if (request.inMs !== null && (request.spec.scheduleAt ?? null) !== null)
    return refused('in', 'in may not stand beside schedule_at; send one of them.');
  const requested: Values =
    request.inMs === null ? request.spec : { ...request.spec, scheduleAt: now + request.inMs };
  const kind = request.spec.scheduleKind ?? kindOf(requested) ?? base?.scheduleKind;
  if (kind === undefined)
    return refused(
      'scheduleCron',
      'schedule_cron is missing; send it or another trigger: schedule_every_ms, schedule_at, parent_id, or schedule_kind "manual".',
    );
  const odd = misfit(requested, kind);
  if (odd !== null) return odd;
  const trigger = triggerOf(kind, requested, base);
  return (
    missing(trigger) ??
    unfit(trigger, requested, base, now) ?? { ok: true, trigger: atOnce(trigger, requested, base, now) }
  );
}

/** The first that is named; whatever does not go with it is refused afterwards. */
function kindOf(requested: Values): ScheduleKind | undefined {
  const kinds = ['child', 'cron', 'every', 'at'] as const;
  return kinds.find((kind) => FIELDS[kind].slice(0, 1).some((key) => asksFor(requested, key)));
}

function misfit(requested: Values, kind: ScheduleKind): Refused | null {
  const odd = TRIGGER_KEYS.find((key) => !FIELDS[kind].includes(key) && asksFor(requested, key));
  if (odd === undefined) return null;
  const name = snakeName(odd);
  if (name.startsWith('trigger_'))
    return refused(odd, `${name} goes with parent_id; leave it out, or name the parent.`);
  if (kind === 'child')
    return refused(
      odd,
      `${name} may not stand beside parent_id, because a child has no clock; send one of them.`,
    );
  const other = FIELDS[kind][0];
  const beside =
    other === undefined || requested[other] === undefined ? `schedule_kind "${kind}"` : snakeName(other);
  return refused(odd, `${name} may not stand beside ${beside}; send one of them.`);
}

/** No delay and no jitter are what every schedule has. */
function asksFor(requested: Values, key: TriggerKey): boolean {
  const value = requested[key] ?? null;
  return value !== null && !((key === 'triggerDelayS' || key === 'jitterS') && value === 0);
}

/** What the kind has, as requested or as it was; what belongs to other kinds is cleared. */
function triggerOf(kind: ScheduleKind, requested: Values, base: ScheduleSpec | null): Trigger {
  const before: Values | null = base?.scheduleKind === kind ? base : null;
  /** How long it goes on outlives the rule that it goes on with. */
  const limits: readonly TriggerKey[] = ['endsAt', 'maxRuns', 'jitterS'];
  const pick = <K extends TriggerKey>(key: K): ScheduleSpec[K] | null => {
    if (!FIELDS[kind].includes(key)) return null;
    const was: Values | null = limits.includes(key) ? base : before;
    const value = requested[key] === undefined ? was?.[key] : requested[key];
    return value ?? null;
  };
  return {
    scheduleKind: kind,
    scheduleCron: pick('scheduleCron'),
    scheduleEveryMs: pick('scheduleEveryMs'),
    scheduleAt: pick('scheduleAt'),
    parentId: pick('parentId'),
    triggerOn: pick('triggerOn'),
    triggerDelayS: pick('triggerDelayS') ?? 0,
    triggerCondition: pick('triggerCondition'),
    endsAt: pick('endsAt'),
    maxRuns: pick('maxRuns'),
    jitterS: pick('jitterS') ?? 0,
  };
}

function missing(trigger: Trigger): Refused | null {
  const { scheduleKind: kind, parentId, triggerOn } = trigger;
  const key = FIELDS[kind][0];
  if (key !== undefined && trigger[key] === null)
    return refused(key, `${snakeName(key)} is missing; send it, or another trigger with its schedule_kind.`);
  if (parentId !== null && triggerOn === null)
    return refused(
      'triggerOn',
      'trigger_on is missing; send success, failure or complete along with parent_id.',
    );
  return null;
}

function unfit(trigger: Trigger, requested: Values, base: ScheduleSpec | null, now: number): Refused | null {
  const { scheduleKind: kind, scheduleCron, scheduleAt, triggerCondition } = trigger;
  const cron = scheduleCron === null ? null : cronProblem(scheduleCron);
  if (cron !== null) return refused('scheduleCron', cron);
  const condition = triggerCondition === null ? null : conditionProblem(triggerCondition);
  if (condition !== null) return refused('triggerCondition', condition);
  const end = endProblem(trigger, base, now);
  if (end !== null) return end;
  if (kind !== 'at' || scheduleAt === null || !isNew(requested, base) || scheduleAt >= now - PAST_MS)
    return null;
  const [at, today] = [scheduleAt, now].map(isoTime);
  return refused(
    'scheduleAt',
    `schedule_at ${at} lies in the past, it is ${today} now; choose a later time.`,
  );
}

/** Sent back as it was shown, an end that has passed is no new one. */
function endProblem({ endsAt, scheduleAt }: Trigger, base: ScheduleSpec | null, now: number): Refused | null {
  if (endsAt === null || endsAt === base?.endsAt) return null;
  const first = Math.max(now, scheduleAt ?? now);
  if (endsAt >= first) return null;
  const what = first === now ? 'lies in the past, it is' : 'comes before its first time,';
  const tail = first === now ? ' now' : '';
  return refused(
    'endsAt',
    `ends_at ${isoTime(endsAt)} ${what} ${isoTime(first)}${tail}; choose a later time.`,
  );
}

/** Only a rule goes on after it, and no longer than until its end. */
export function nextProblem(
  next: number | null,
  { scheduleKind: kind, endsAt }: Pick<ScheduleSpec, 'scheduleKind' | 'endsAt'>,
  now: number,
): Refused | null {
  if (next === null) return null;
  if (kind !== 'cron' && kind !== 'every')
    return refused(
      'nextRunAt',
      `next_run_at goes with schedule_cron or schedule_every_ms, and this one is of the kind ${kind}; leave it out.`,
    );
  if (next < now - PAST_MS)
    return refused(
      'nextRunAt',
      `next_run_at ${isoTime(next)} lies in the past, it is ${isoTime(now)} now; choose a later time.`,
    );
  if (endsAt === null || next <= endsAt) return null;
  return refused('nextRunAt', `next_run_at comes after ends_at ${isoTime(endsAt)}; choose an earlier time.`);
}

function atOnce(trigger: Trigger, requested: Values, base: ScheduleSpec | null, now: number): Trigger {
  const { scheduleKind: kind, scheduleAt } = trigger;
  if (kind !== 'at' || scheduleAt === null || !isNew(requested, base)) return trigger;
  return { ...trigger, scheduleAt: Math.max(scheduleAt, now) };
}

/** Sent back as it was shown, an old time is no new one. */
function isNew(requested: Values, base: ScheduleSpec | null): boolean {
  return (
    base?.scheduleKind !== 'at' ||
    (requested.scheduleAt !== undefined && requested.scheduleAt !== base.scheduleAt)
  );
}
