/** What a running job may ask for by a spawn message. Rights only shrink: the rest is its schedule's own. */

import type { Schedule, ScheduleSpec } from './schedule.ts';
import { completeSchedule } from './schedule-draft.ts';
import { isSpecKey, RULES, type ScheduleKey, type SpecKey, snakeName } from './schedule-fields.ts';
import { namedFields } from './schedule-names.ts';
import type { DoorFacts } from './schedule-target.ts';
import { type Refused, refused } from './schedule-request.ts';

/** What the work is called and what it is: the child's own to say. */
const OWN: ReadonlySet<string> = new Set<SpecKey>(['name', 'description', 'payloadMessage', 'params']);

/** What the child may have less of than its parent, never more. */
const BOUNDED: { readonly [K in SpecKey]?: (asked: ScheduleSpec, own: ScheduleSpec) => boolean } = {
  priority: (asked, own) => asked.priority <= own.priority,
  // How many a type allows is known to nobody here: beside it only none is less.
  maxRetries: (asked, own) =>
    asked.maxRetries === own.maxRetries || (asked.maxRetries ?? Infinity) <= (own.maxRetries ?? 0),
  payloadTimeoutSeconds: (asked, own) => asked.payloadTimeoutSeconds <= own.payloadTimeoutSeconds,
  runTimeoutMs: (asked, own) => (asked.runTimeoutMs ?? Infinity) <= (own.runTimeoutMs ?? Infinity),
  approvalRequired: (asked, own) => asked.approvalRequired || !own.approvalRequired,
  deliveryMode: (asked, own) => asked.deliveryMode === 'none' || asked.deliveryMode === own.deliveryMode,
};

/** The child of `parent` that `body` asks for: it runs once, and whatever may not be asked for is as the parent has it. */
export function spawnedSpec(
  body: Readonly<Record<string, unknown>>,
  parent: Schedule,
  facts: DoorFacts,
): { readonly ok: true; readonly spec: ScheduleSpec } | Refused {
  const named = namedFields(body);
  if (!named.ok) return named;
  if (!named.given.has('name')) return refused('name', 'name is missing; say what the child is called.');
  const inherited = inheritedFrom(parent.spec);
  const made = completeSchedule(body, inherited, facts);
  if (!made.ok) return made;
  for (const [key, { written, value }] of named.given)
    if (!mayAsk(key, value, made.spec, inherited)) return beyond(key, written, inherited);
  // Whatever a field brought along that was not named itself.
  const changed = (Object.keys(made.spec) as SpecKey[]).find(
    (key) => !mayAsk(key, made.spec[key], made.spec, inherited),
  );
  if (changed !== undefined) return beyond(changed, snakeName(changed), inherited);
  return { ok: true, spec: { ...made.spec, parentId: parent.id } };
}

/** As the parent is, but without its clock, its own parent, and what it was told to do. */
function inheritedFrom(own: ScheduleSpec): ScheduleSpec {
  return {
    ...own,
    description: null,
    payloadMessage: '',
    params: null,
    scheduleKind: 'manual',
    scheduleCron: null,
    scheduleAt: null,
    scheduleEveryMs: null,
    parentId: null,
    triggerOn: null,
    triggerDelayS: 0,
    triggerCondition: null,
    endsAt: null,
    maxRuns: null,
    jitterS: 0,
    managedBy: null,
    deleteAfterRun: true,
  };
}

function mayAsk(key: ScheduleKey, value: unknown, asked: ScheduleSpec, inherited: ScheduleSpec): boolean {
  if (key === 'enabled') return value === true;
  if (!isSpecKey(key)) return false;
  return OWN.has(key) || (BOUNDED[key]?.(asked, inherited) ?? asked[key] === inherited[key]);
}

function beyond(key: ScheduleKey, written: string, inherited: ScheduleSpec): Refused {
  if (!isSpecKey(key) || isTrigger(key))
    return refused(key, `${written} may not be asked for: a child runs once, at once; leave it out.`);
  const own = JSON.stringify(inherited[key] ?? RULES[key].default);
  if (key in BOUNDED)
    return refused(key, `${written} may not go beyond that of the schedule that asks, which is ${own}.`);
  return refused(
    key,
    `${written} may not be asked for: it is ${own}, as for the schedule that asks; leave it out.`,
  );
}

function isTrigger(key: ScheduleKey): boolean {
  const limits: readonly ScheduleKey[] = ['endsAt', 'maxRuns', 'jitterS'];
  return (
    key.startsWith('schedule') || key.startsWith('trigger') || key === 'parentId' || limits.includes(key)
  );
}
