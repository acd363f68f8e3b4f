/** What makes a schedule fire: exactly one of a clock, a parent, or a hand. */

import { conditionProblem } from './condition.ts';
import { cronProblem } from './cron.ts';
import type { ScheduleKind, ScheduleSpec } from './schedule.ts';
import { snakeName } from './schedule-fields.ts';
import { type Refused, refused, type Wish } from './schedule-wish.ts';

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
] as const;
type TriggerKey = (typeof TRIGGER_KEYS)[number];
export type Trigger = Pick<ScheduleSpec, TriggerKey | 'scheduleKind'>;
type Values = { readonly [K in TriggerKey]?: ScheduleSpec[K] | null };

/** Which fields each kind has, the one that makes it first. An interval may say when it begins. */
const FIELDS: Readonly<Record<ScheduleKind, readonly TriggerKey[]>> = {
  cron: ['scheduleCron'],
  every: ['scheduleEveryMs', 'scheduleAt'],
  at: ['scheduleAt'],
  child: ['parentId', 'triggerOn', 'triggerDelayS', 'triggerCondition'],
  manual: [],
};

export function completeTrigger(
  wish: Wish,
  base: ScheduleSpec | null,
  now: number,
): { readonly ok: true; readonly trigger: Trigger } | Refused {
  if (wish.inMs !== null && (wish.spec.scheduleAt ?? null) !== null)
    return refused('in', 'in may not stand beside schedule_at; send one of them.');
  const wished: Values = wish.inMs === null ? wish.spec : { ...wish.spec, scheduleAt: now + wish.inMs };
  const kind = wish.spec.scheduleKind ?? kindOf(wished) ?? base?.scheduleKind;
  if (kind === undefined)
    return refused(
      'scheduleCron',
      'schedule_cron is missing; send it or another trigger: schedule_every_ms, schedule_at, parent_id, or schedule_kind "manual".',
    );
  const odd = misfit(wished, kind);
  if (odd !== null) return odd;
  const trigger = triggerOf(kind, wished, base);
  return (
    missing(trigger) ??
    unfit(trigger, wished, base, now) ?? { ok: true, trigger: atOnce(trigger, wished, base, now) }
  );
}

/** The first that is named; whatever does not go with it is refused afterwards. */
function kindOf(wished: Values): ScheduleKind | undefined {
  const kinds = ['child', 'cron', 'every', 'at'] as const;
  return kinds.find((kind) => FIELDS[kind].slice(0, 1).some((key) => asksFor(wished, key)));
}

function misfit(wished: Values, kind: ScheduleKind): Refused | null {
  const odd = TRIGGER_KEYS.find((key) => !FIELDS[kind].includes(key) && asksFor(wished, key));
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
    other === undefined || wished[other] === undefined ? `schedule_kind "${kind}"` : snakeName(other);
  return refused(odd, `${name} may not stand beside ${beside}; send one of them.`);
}

/** No delay is what every schedule has. */
function asksFor(wished: Values, key: TriggerKey): boolean {
  return (wished[key] ?? null) !== null && !(key === 'triggerDelayS' && wished[key] === 0);
}

/** What the kind has, as wished or as it was; what belongs to other kinds is cleared. */
function triggerOf(kind: ScheduleKind, wished: Values, base: ScheduleSpec | null): Trigger {
  const before: Values | null = base?.scheduleKind === kind ? base : null;
  const pick = <K extends TriggerKey>(key: K): ScheduleSpec[K] | null => {
    if (!FIELDS[kind].includes(key)) return null;
    const value = wished[key] === undefined ? before?.[key] : wished[key];
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

function unfit(trigger: Trigger, wished: Values, base: ScheduleSpec | null, now: number): Refused | null {
  const { scheduleKind: kind, scheduleCron, scheduleAt, triggerCondition } = trigger;
  // The zone was looked at when it was read.
  const cron = scheduleCron === null ? null : cronProblem(scheduleCron, 'UTC');
  if (cron !== null) return { ok: false, ...cron };
  const condition = triggerCondition === null ? null : conditionProblem(triggerCondition);
  if (condition !== null) return refused('triggerCondition', condition);
  if (kind !== 'at' || scheduleAt === null || !isNew(wished, base) || scheduleAt >= now - PAST_MS)
    return null;
  const [at, today] = [scheduleAt, now].map((instant) => new Date(instant).toISOString());
  return refused(
    'scheduleAt',
    `schedule_at ${at} lies in the past, it is ${today} now; choose a later time.`,
  );
}

function atOnce(trigger: Trigger, wished: Values, base: ScheduleSpec | null, now: number): Trigger {
  const { scheduleKind: kind, scheduleAt } = trigger;
  if (kind !== 'at' || scheduleAt === null || !isNew(wished, base)) return trigger;
  return { ...trigger, scheduleAt: Math.max(scheduleAt, now) };
}

/** Sent back as it was shown, an old time is no new one. */
function isNew(wished: Values, base: ScheduleSpec | null): boolean {
  return (
    base?.scheduleKind !== 'at' || (wished.scheduleAt !== undefined && wished.scheduleAt !== base.scheduleAt)
  );
}
