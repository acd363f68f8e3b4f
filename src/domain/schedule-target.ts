/** Where the runs of a schedule go, and what they carry. */

import { isProbeUrl } from './probe.ts';
import type { ScheduleSpec, SessionTarget } from './schedule.ts';
import { RULES, type SpecKey, snakeName } from './schedule-fields.ts';
import { type Refused, refused, type ScheduleRequest } from './schedule-request.ts';

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
const FOR_QUEUES = [
  'target',
  'type',
  'params',
  'budget',
  'tags',
  'announce',
  'probe',
  'probeTimeoutS',
] as const;
const FOR_AGENTS = [
  'payloadModel',
  'payloadThinking',
  'payloadTimeoutSeconds',
  'payloadScope',
  'preferredSessionKey',
  'staleThresholdS',
  'jobClass',
  'contextRetrieval',
  'contextRetrievalLimit',
] as const;

type TargetKey = 'sessionTarget' | 'gateway' | 'payloadKind' | 'payloadMessage' | 'runTimeoutMs' | CarriedKey;
export type Target = Pick<ScheduleSpec, TargetKey>;

export function completeTarget(
  request: ScheduleRequest,
  base: ScheduleSpec | null,
  facts: DoorFacts,
): { readonly ok: true; readonly target: Target } | Refused {
  const before = base?.sessionTarget ?? (request.byCommand ? 'shell' : 'isolated');
  const place = request.spec.sessionTarget === null ? 'isolated' : (request.spec.sessionTarget ?? before);
  const problem =
    shellProblem(request, base, place, facts) ??
    probeProblem(request, base, facts) ??
    gatewayProblem(request, base, facts) ??
    misfitProblem(request, place);
  if (problem !== null) return problem;
  const same = base !== null && base.sessionTarget === place ? base : null;
  const payloadKind =
    request.spec.payloadKind ??
    (request.spec.payloadKind === null ? undefined : same?.payloadKind) ??
    KINDS[place][0];
  if (payloadKind === undefined || !KINDS[place].includes(payloadKind))
    return refused(
      'payloadKind',
      `payload_kind must be ${KINDS[place].join(' or ')} when session_target is ${place}; leave it out.`,
    );
  const told = carried(request, same);
  // The main session takes an event and says nothing to it: there would be nothing to tell of.
  if (payloadKind === 'systemEvent' && told.contextRetrieval !== 'none')
    return refused(
      'contextRetrieval',
      'context_retrieval goes with turns, which have a reply; send payload_kind agentTurn too, or leave it out.',
    );
  const message =
    request.spec.payloadMessage === undefined
      ? (base?.payloadMessage ?? '')
      : (request.spec.payloadMessage ?? '');
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
        (request.spec.gateway === undefined ? base?.gateway : request.spec.gateway) ??
        facts.gateways[0] ??
        'main',
      payloadKind,
      payloadMessage: message,
      runTimeoutMs: runTimeout(request, base, place),
      ...told,
    },
  };
}

function shellProblem(
  request: ScheduleRequest,
  base: ScheduleSpec | null,
  place: SessionTarget,
  facts: DoorFacts,
): Refused | null {
  if (request.byCommand && place !== 'shell')
    return refused('payloadMessage', 'command goes with session_target shell; send payload_message instead.');
  // A shell schedule that exists may still be renamed or disabled, but not told to run something else.
  const untouched =
    base?.sessionTarget === 'shell' &&
    (request.spec.payloadMessage ?? base.payloadMessage) === base.payloadMessage;
  if (place !== 'shell' || facts.shellAllowed || untouched) return null;
  return refused(
    'sessionTarget',
    'session_target shell is switched off on this server; set SPINE_SHELL=on to allow commands.',
  );
}

/** A command is one wherever it stands. */
function probeProblem(request: ScheduleRequest, base: ScheduleSpec | null, facts: DoorFacts): Refused | null {
  const { probe } = request.spec;
  if (probe === undefined || probe === null || probe === base?.probe) return null;
  if (isProbeUrl(probe) || facts.shellAllowed) return null;
  return refused(
    'probe',
    'probe is a command, and commands are switched off on this server; send a URL, or set SPINE_SHELL=on.',
  );
}

function gatewayProblem(
  request: ScheduleRequest,
  base: ScheduleSpec | null,
  { gateways }: DoorFacts,
): Refused | null {
  const { gateway } = request.spec;
  const known = gateways.length > 0 ? gateways : ['main'];
  if (gateway === undefined || gateway === null || gateway === base?.gateway || known.includes(gateway))
    return null;
  return refused(
    'gateway',
    `gateway ${JSON.stringify(gateway)} is not configured; use ${known.join(' or ')}.`,
  );
}

/** Fields that would be stored and never looked at. */
function misfitProblem(request: ScheduleRequest, place: SessionTarget): Refused | null {
  const misfit = (keys: readonly SpecKey[]) =>
    keys.find((key) => (request.spec[key] ?? null) !== null && request.spec[key] !== RULES[key].default);
  const ofQueue = place === 'queue' ? undefined : misfit(FOR_QUEUES);
  if (ofQueue !== undefined)
    return refused(
      ofQueue,
      `${snakeName(ofQueue)} goes with session_target queue; leave it out for ${place}.`,
    );
  const ofAgent = place === 'isolated' || place === 'main' ? undefined : misfit(FOR_AGENTS);
  if (ofAgent === undefined) return null;
  const advice = ofAgent === 'payloadTimeoutSeconds' ? 'send run_timeout_ms instead' : 'leave it out';
  return refused(
    ofAgent,
    `${snakeName(ofAgent)} goes with an agent; ${advice} when session_target is ${place}.`,
  );
}

/** A limit that was the default of the old place becomes that of the new one. */
function runTimeout(
  request: ScheduleRequest,
  base: ScheduleSpec | null,
  place: SessionTarget,
): number | null {
  const byDefault = (at: SessionTarget) => (at === 'shell' ? SHELL_TIMEOUT_MS : null);
  if (request.spec.runTimeoutMs !== undefined) return request.spec.runTimeoutMs ?? byDefault(place);
  if (base === null || base.runTimeoutMs === byDefault(base.sessionTarget)) return byDefault(place);
  return base.runTimeoutMs;
}

type CarriedKey = (typeof FOR_QUEUES)[number] | (typeof FOR_AGENTS)[number];

/** What belongs to another place is forgotten when the place changes. */
function carried(request: ScheduleRequest, same: ScheduleSpec | null): Pick<ScheduleSpec, CarriedKey> {
  const picked = [...FOR_QUEUES, ...FOR_AGENTS].map((key) => {
    const value = request.spec[key] === undefined ? same?.[key] : request.spec[key];
    return [key, value ?? RULES[key].default];
  });
  // Every rule has a default of its type.
  return Object.fromEntries(picked) as Pick<ScheduleSpec, CarriedKey>;
}
