/** Where the runs of a schedule go, and what they carry. */

import type { ScheduleSpec, SessionTarget } from './schedule.ts';
import { RULES, type SpecKey, snakeName } from './schedule-fields.ts';
import { type Refused, refused, type Wish } from './schedule-wish.ts';

export interface DoorFacts {
  readonly now: number;
  readonly shellAllowed: boolean;
  /** The configured ones; the first is the default. */
  readonly gateways: readonly string[];
}

const SHELL_TIMEOUT_MS = 300_000;
/** What a run can be at each place, the default first. */
const KINDS: Readonly<Record<SessionTarget, readonly ScheduleSpec['payloadKind'][]>> = {
  isolated: ['agentTurn'],
  main: ['systemEvent', 'agentTurn'],
  shell: ['shellCommand'],
  queue: ['job'],
};
const FOR_QUEUES = ['target', 'type', 'params'] as const;
const FOR_AGENTS = ['payloadModel', 'payloadThinking', 'preferredSessionKey'] as const;

type TargetKey =
  | 'sessionTarget'
  | 'gateway'
  | 'payloadKind'
  | 'payloadMessage'
  | 'runTimeoutMs'
  | (typeof FOR_QUEUES)[number]
  | (typeof FOR_AGENTS)[number];
export type Target = Pick<ScheduleSpec, TargetKey>;

export function completeTarget(
  wish: Wish,
  base: ScheduleSpec | null,
  facts: DoorFacts,
): { readonly ok: true; readonly target: Target } | Refused {
  const before = base?.sessionTarget ?? (wish.byCommand ? 'shell' : 'isolated');
  const place = wish.spec.sessionTarget === null ? 'isolated' : (wish.spec.sessionTarget ?? before);
  const problem =
    shellProblem(wish, base, place, facts) ?? gatewayProblem(wish, base, facts) ?? strayProblem(wish, place);
  if (problem !== null) return problem;
  const same = base !== null && base.sessionTarget === place ? base : null;
  const payloadKind =
    wish.spec.payloadKind ??
    (wish.spec.payloadKind === null ? undefined : same?.payloadKind) ??
    KINDS[place][0];
  if (payloadKind === undefined || !KINDS[place].includes(payloadKind))
    return refused(
      'payloadKind',
      `payload_kind must be ${KINDS[place].join(' or ')} when session_target is ${place}; leave it out.`,
    );
  const message =
    wish.spec.payloadMessage === undefined ? (base?.payloadMessage ?? '') : (wish.spec.payloadMessage ?? '');
  if (place !== 'queue' && message.trim() === '')
    return refused(
      'payloadMessage',
      `payload_message is missing; say what ${place === 'shell' ? 'command to run' : 'the agent is to do'}.`,
    );
  return {
    ok: true,
    target: {
      sessionTarget: place,
      gateway:
        (wish.spec.gateway === undefined ? base?.gateway : wish.spec.gateway) ?? facts.gateways[0] ?? 'main',
      payloadKind,
      payloadMessage: message,
      runTimeoutMs: runTimeout(wish, base, place),
      ...carried(wish, same),
    },
  };
}

function shellProblem(
  wish: Wish,
  base: ScheduleSpec | null,
  place: SessionTarget,
  facts: DoorFacts,
): Refused | null {
  if (wish.byCommand && place !== 'shell')
    return refused('payloadMessage', 'command goes with session_target shell; send payload_message instead.');
  // A shell schedule that exists may still be renamed or disabled, but not told to run something else.
  const untouched =
    base?.sessionTarget === 'shell' &&
    (wish.spec.payloadMessage ?? base.payloadMessage) === base.payloadMessage;
  if (place !== 'shell' || facts.shellAllowed || untouched) return null;
  return refused(
    'sessionTarget',
    'session_target shell is switched off on this server; set SPINE_SHELL=on to allow commands.',
  );
}

function gatewayProblem(wish: Wish, base: ScheduleSpec | null, { gateways }: DoorFacts): Refused | null {
  const { gateway } = wish.spec;
  const known = gateways.length > 0 ? gateways : ['main'];
  if (gateway === undefined || gateway === null || gateway === base?.gateway || known.includes(gateway))
    return null;
  return refused(
    'gateway',
    `gateway ${JSON.stringify(gateway)} is not configured; use ${known.join(' or ')}.`,
  );
}

/** Fields that would be stored and never looked at. */
function strayProblem(wish: Wish, place: SessionTarget): Refused | null {
  const stray = (keys: readonly SpecKey[]) =>
    keys.find((key) => (wish.spec[key] ?? null) !== null && wish.spec[key] !== RULES[key].default);
  const ofQueue = place === 'queue' ? undefined : stray(FOR_QUEUES);
  if (ofQueue !== undefined)
    return refused(
      ofQueue,
      `${snakeName(ofQueue)} goes with session_target queue; leave it out for ${place}.`,
    );
  const ofAgent = place === 'isolated' || place === 'main' ? undefined : stray(FOR_AGENTS);
  if (ofAgent === undefined) return null;
  return refused(
    ofAgent,
    `${snakeName(ofAgent)} goes with an agent; leave it out when session_target is ${place}.`,
  );
}

/** A limit that was the default of the old place becomes that of the new one. */
function runTimeout(wish: Wish, base: ScheduleSpec | null, place: SessionTarget): number | null {
  const byDefault = (at: SessionTarget) => (at === 'shell' ? SHELL_TIMEOUT_MS : null);
  if (wish.spec.runTimeoutMs !== undefined) return wish.spec.runTimeoutMs ?? byDefault(place);
  if (base === null || base.runTimeoutMs === byDefault(base.sessionTarget)) return byDefault(place);
  return base.runTimeoutMs;
}

/** What belongs to another place is forgotten when the place changes. */
function carried(wish: Wish, same: ScheduleSpec | null) {
  const pick = <K extends (typeof FOR_QUEUES)[number] | (typeof FOR_AGENTS)[number]>(key: K) =>
    (wish.spec[key] === undefined ? same?.[key] : wish.spec[key]) ?? null;
  return {
    target: pick('target') ?? 'any',
    type: pick('type'),
    params: pick('params'),
    payloadModel: pick('payloadModel'),
    payloadThinking: pick('payloadThinking'),
    preferredSessionKey: pick('preferredSessionKey'),
  };
}
