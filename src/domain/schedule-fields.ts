/** The fields of a schedule: one table for the door, its schema and its docs. */

import { CONDITION_CHARS } from './condition.ts';
import { isoTime } from './iso-time.ts';
import { LIMITS } from './limits.ts';
import type { ScheduleSpec } from './schedule.ts';

export const TZ_CHARS = 64;
const DAY_S = 86_400;
const YEAR_S = 366 * DAY_S;
/** How long an approval is waited for unless said otherwise. */
export const APPROVAL_TIMEOUT_S = 3_600;
const NAME: Shape = {
  pattern: /^[\p{L}\p{N}][\p{L}\p{N}._:@-]*$/u,
  words: 'letters, digits and . _ : @ -, beginning with a letter or digit',
};
/** What the gateway accepts. */
const AGENT: Shape = {
  pattern: /^[a-z0-9][a-z0-9_-]*$/,
  words: 'lower-case letters, digits, - and _, beginning with a letter or digit',
};

/** What a name may be made of, and how that is said. */
interface Shape {
  readonly pattern: RegExp;
  readonly words: string;
}

/** How a value is read. Units are in the field's name. */
export type FieldType =
  | { readonly type: 'text'; readonly maxChars: number; readonly lines?: true; readonly shape?: Shape }
  | { readonly type: 'integer'; readonly min: number; readonly max: number }
  | { readonly type: 'boolean' }
  | { readonly type: 'choice'; readonly values: readonly string[] }
  /** ISO 8601 or epoch ms. */
  | { readonly type: 'time' }
  /** Milliseconds, or text such as "15m". */
  | { readonly type: 'duration'; readonly min: number; readonly max: number }
  | { readonly type: 'json'; readonly maxChars: number }
  | { readonly type: 'names'; readonly max: number };

/** `default` is null where another field decides; the help says how. */
export type FieldRule = FieldType & {
  readonly default: string | number | boolean | null;
  readonly help: string;
  readonly synonyms?: readonly string[];
};

export type ScheduleField = FieldRule & { readonly name: string; readonly key: ScheduleKey };
export type SpecKey = keyof ScheduleSpec;
/** What is said of a schedule and is no part of what it is. */
type Beside = 'enabled' | 'in' | 'nextRunAt';
export type ScheduleKey = SpecKey | Beside;

type Default = FieldRule['default'];
const text = (maxChars: number, help: string, value: Default = null) =>
  ({ type: 'text', maxChars, default: value, help }) as const;
const name = (help: string, value: Default = null) => ({
  ...text(LIMITS.nameChars, help, value),
  shape: NAME,
});
const integer = (min: number, max: number, value: Default, help: string) =>
  ({ type: 'integer', min, max, default: value, help }) as const;
const boolean = (value: boolean, help: string) => ({ type: 'boolean', default: value, help }) as const;
/** The key only ties the words to those of the spec. */
const choice = <K extends SpecKey>(
  _key: K,
  values: readonly (ScheduleSpec[K] & string)[],
  help: string,
  value: Default = values[0] ?? null,
) => ({ type: 'choice', values, default: value, help }) as const;

/** Every key of the spec has its rule, in the order of the docs. */
export const RULES: Readonly<Record<ScheduleKey, FieldRule>> = {
  name: text(200, 'What people call it. Required.'),
  description: { ...text(LIMITS.descriptionChars, 'What it is for.'), lines: true },
  enabled: boolean(true, 'Whether it fires by itself.'),

  scheduleKind: choice(
    'scheduleKind',
    ['cron', 'every', 'at', 'child', 'manual'],
    'How it is triggered; found out from the other fields. Only manual must be said.',
    null,
  ),
  scheduleCron: {
    ...text(128, 'Cron expression: 5 fields, 6 with seconds first, or @hourly and the like.'),
    synonyms: ['schedule'],
  },
  scheduleTz: { ...text(TZ_CHARS, 'Time zone of the cron expression.', 'UTC'), synonyms: ['timezone'] },
  scheduleAt: {
    type: 'time',
    default: null,
    help: 'The one time it fires; of an interval, the first time. Without an offset it is meant in schedule_tz.',
    synonyms: ['at'],
  },
  in: {
    type: 'duration',
    min: 0,
    max: YEAR_S * 1_000,
    default: null,
    help: 'Like schedule_at, counted from now: "15m".',
  },
  scheduleEveryMs: {
    type: 'duration',
    min: 1_000,
    max: YEAR_S * 1_000,
    default: null,
    help: 'Interval in milliseconds, or text such as "15m".',
    synonyms: ['every'],
  },
  endsAt: {
    type: 'time',
    default: null,
    help: 'The last moment at which it may be due; then it is switched off. Without an offset it is meant in schedule_tz.',
    synonyms: ['until'],
  },
  maxRuns: integer(
    1,
    1_000_000_000,
    null,
    'How often it runs by itself before it is switched off; runs by hand do not count.',
  ),
  jitterS: integer(
    0,
    DAY_S,
    0,
    'Its ticks come up to so many seconds later, always by the same time, so that many schedules do not fire at once.',
  ),
  nextRunAt: {
    type: 'time',
    default: null,
    help: 'When it fires next, whatever its rule says; then its rule goes on. Without an offset it is meant in schedule_tz.',
  },
  catchUp: choice('catchUp', ['skip', 'once', 'all'], 'What happens with ticks that were missed.', 'once'),
  catchUpMax: integer(1, 1_000, 25, 'How many missed ticks "all" makes up for, the newest ones.'),
  catchUpWindowS: integer(0, YEAR_S, DAY_S, 'Ticks missed longer ago than this are not made up for.'),

  parentId: text(LIMITS.nameChars, 'The schedule whose runs start this one.'),
  triggerOn: choice(
    'triggerOn',
    ['success', 'failure', 'complete'],
    'Which end of the parent starts it. Required with parent_id.',
    null,
  ),
  triggerDelayS: integer(0, 30 * DAY_S, 0, "Seconds to wait after the parent's end."),
  triggerCondition: text(
    CONDITION_CHARS,
    "contains:<text> or regex:<pattern>, looked for in the parent's output.",
  ),
  maxTriggerFanout: integer(1, 1_000, 25, 'How many children it may have.'),

  sessionTarget: choice(
    'sessionTarget',
    ['isolated', 'main', 'shell', 'queue'],
    "Where runs go: an agent's own session, its main session, a command, or any worker.",
  ),
  agentId: { ...text(64, 'The agent.', 'main'), shape: AGENT },
  gateway: text(LIMITS.nameChars, 'The gateway; the first configured one unless named.'),
  payloadKind: choice(
    'payloadKind',
    ['agentTurn', 'systemEvent', 'shellCommand', 'job'],
    'What a run is; decided by session_target.',
    null,
  ),
  payloadMessage: {
    ...text(100_000, 'What the agent is told, or the command. Required unless session_target is queue.', ''),
    lines: true,
    synonyms: ['command'],
  },
  payloadModel: text(200, "The model, when not the agent's own."),
  payloadThinking: text(LIMITS.nameChars, 'How deep the agent thinks.'),
  payloadTimeoutSeconds: integer(
    1,
    DAY_S,
    120,
    "How long the agent may be silent, where that is less than the server's limit; stale_threshold_s decides when it is set.",
  ),
  payloadScope: choice('payloadScope', ['own', 'global'], 'Whose sub-agents a run looks at.'),
  preferredSessionKey: text(200, 'A session of the gateway to go on with.'),
  target: name('Who may claim the runs of a queue.', 'any'),
  type: name('The kind of work of a queue.'),
  params: { type: 'json', maxChars: 100_000, default: null, help: 'What the worker of a queue is given.' },
  budget: {
    type: 'json',
    maxChars: 10_000,
    default: null,
    help: 'What a run may cost, for the worker of a queue: any JSON.',
  },
  tags: {
    type: 'names',
    max: LIMITS.tags,
    default: null,
    help: 'Tags of the runs of a queue; the scoring of their type may look at them.',
  },
  announce: boolean(false, "Whether the operator's chat is told how each run of a queue ended."),
  probe: {
    ...text(
      4_000,
      'A command or a URL that is asked first, at each tick, whether there is work for the queue.',
    ),
    lines: true,
  },
  probeTimeoutS: integer(1, 300, 30, 'How long the probe may take.'),
  priority: integer(-LIMITS.priority, LIMITS.priority, 0, 'Higher goes first.'),

  runTimeoutMs: integer(
    1,
    LIMITS.timeoutMsMax,
    null,
    'Hard limit of a run; none for agents, 300000 for shell.',
  ),
  staleThresholdS: integer(
    1,
    DAY_S,
    null,
    "Silence after which a run counts as stale; the server's own unless set.",
  ),

  overlapPolicy: choice(
    'overlapPolicy',
    ['skip', 'allow', 'queue'],
    'What happens when the run before is not over.',
  ),
  maxQueuedDispatches: integer(1, 1_000, 25, 'How many runs may wait for the one before.'),
  maxRetries: integer(
    0,
    10,
    null,
    'How often a failed run is tried again: 0 unless said; for a queue with a type, as often as the type says.',
  ),
  resourcePool: name('Runs of one pool share its slots.'),
  deliveryGuarantee: choice(
    'deliveryGuarantee',
    ['at-most-once', 'at-least-once'],
    'Whether a run that crashed is replayed.',
  ),
  deleteAfterRun: boolean(false, 'Whether it is deleted after its first run that was ok.'),

  approvalRequired: boolean(false, 'Whether somebody must approve each run before it starts.'),
  approvalTimeoutS: integer(1, 30 * DAY_S, APPROVAL_TIMEOUT_S, 'How long an approval is waited for.'),
  approvalAuto: choice('approvalAuto', ['approve', 'reject'], 'What happens when nobody answers.', 'reject'),
  maxPendingApprovals: integer(1, 1_000, 10, 'How many approvals may be open at a time.'),

  jobClass: choice(
    'jobClass',
    ['standard', 'pre_compaction_flush'],
    'pre_compaction_flush asks the agent to write down what matters.',
  ),
  contextRetrieval: choice(
    'contextRetrieval',
    ['none', 'recent', 'hybrid'],
    'Which summaries of earlier runs the agent is given: none, the newest, or those that fit best.',
  ),
  contextRetrievalLimit: integer(1, 100, 5, 'How many of them.'),
  deliveryMode: choice(
    'deliveryMode',
    ['announce', 'announce-always', 'none'],
    'What is delivered: announce is replies and failures, announce-always also HEARTBEAT_OK and the like, none is nothing.',
  ),
  deliveryChannel: text(
    LIMITS.nameChars,
    "Where to: telegram, slack, webhook, gateway, log, or one of the gateway's.",
  ),
  deliveryTo: text(
    500,
    'To whom: an @alias, a target of the channel, or channel:target. Without it nothing is delivered.',
  ),

  managedBy: text(200, 'Who keeps it: set by spine apply and spine import.'),
};

/** The table as a list, for the schema and the docs. */
export const SCHEDULE_FIELDS: readonly ScheduleField[] = (Object.keys(RULES) as ScheduleKey[]).map((key) => ({
  ...RULES[key],
  key,
  name: snakeName(key),
}));

const BESIDE: Readonly<Record<Beside, true>> = { enabled: true, in: true, nextRunAt: true };

export function isSpecKey(key: ScheduleKey): key is SpecKey {
  return !(key in BESIDE);
}

export function snakeName(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** A spec as the door shows it; sent back unchanged, it changes nothing. */
export function toSnake(spec: ScheduleSpec): Record<string, unknown> {
  const shown: Record<string, unknown> = {};
  for (const { key, name } of SCHEDULE_FIELDS) if (isSpecKey(key)) shown[name] = spec[key];
  if (spec.scheduleAt !== null) shown['schedule_at'] = isoTime(spec.scheduleAt);
  if (spec.endsAt !== null) shown['ends_at'] = isoTime(spec.endsAt);
  return shown;
}
