/** A job of that scheduler in our words: what means the same, what is said otherwise, and what stays behind. */

import { type Foreign, isSaid, present, type Unfit, unreadNote } from './foreign.ts';

export type SchedulerJob = Readonly<Record<string, unknown>>;

/** Columns that mean the same here. */
const SAME = [
  'schedule_tz',
  'session_target',
  'payload_model',
  'payload_thinking',
  'payload_scope',
  'overlap_policy',
  'delivery_mode',
  'delivery_channel',
  'delivery_to',
  'delivery_guarantee',
  'job_class',
  'max_retries',
  'resource_pool',
  'delete_after_run',
  'approval_required',
  'approval_timeout_s',
  'approval_auto',
  'context_retrieval',
  'context_retrieval_limit',
  'preferred_session_key',
  'max_queued_dispatches',
  'max_pending_approvals',
  'max_trigger_fanout',
];
/** What every one of its jobs had unless somebody said otherwise; agents here have no such limit. */
const USUAL_TIMEOUT_MS = 300_000;

/** Columns of its later schemas that say something of a job which no schedule here says. */
const LEFT_BEHIND: Readonly<Record<string, string>> = {
  auth_profile: 'its auth_profile: the gateway decides whose account an agent uses',
  ttl_hours: 'its ttl_hours: ends_at and max_runs end a schedule here',
  contract_max_cost_usd: 'its contract_max_cost_usd: a budget of its agent limits what it costs here',
  contract_allowed_paths: 'its contract_allowed_paths: what an agent may touch is set at the gateway',
  contract_network: 'its contract_network: what an agent may reach is set at the gateway',
  contract_sandbox: 'its contract_sandbox: where an agent runs is set at the gateway',
};

/** Columns that are read here, and those that only say how the job fared there. */
const READ: ReadonlySet<string> = new Set([
  ...SAME,
  ...Object.keys(LEFT_BEHIND),
  'id',
  'name',
  'enabled',
  'parent_id',
  'schedule_kind',
  'schedule_cron',
  'schedule_at',
  'next_run_at',
  'trigger_on',
  'trigger_delay_s',
  'trigger_condition',
  'agent_id',
  'payload_kind',
  'payload_message',
  'payload_timeout_seconds',
  'run_timeout_ms',
  'execution_intent',
  'execution_read_only',
  'job_type',
  'origin',
]);
const HISTORY = /^(created|updated|last|consecutive|queued)_/;

const TOLD_MORE =
  'announce delivers every reply here, and there those of failed runs only: for these alone set delivery_mode none and subscribe to its failed and dead';

export interface Around {
  readonly aliases: ReadonlySet<string>;
  readonly nowMs: number;
  /** What each column has unless somebody said otherwise. */
  readonly defaults: ReadonlyMap<string, unknown>;
}

export function scheduleOf(
  job: SchedulerJob,
  parentKey: string | null,
  { aliases, nowMs, defaults }: Around,
): Foreign | Unfit {
  const name = String(job['name']);
  if (parentKey !== null && (job['trigger_on'] ?? null) === null)
    return { name, reason: 'it has a parent, and no end of it that would start it' };
  if (job['job_type'] === 'watchdog')
    return { name, reason: 'it watches over another task, and no schedule here does' };
  const isShell = job['session_target'] === 'shell' || job['payload_kind'] === 'shellCommand';
  const next = nextOf(job, parentKey);
  const isDue = next !== null && Date.parse(next) <= nowMs;
  const fields = present({
    ...Object.fromEntries(SAME.map((column) => [column, job[column]])),
    name,
    enabled: job['enabled'] !== 0,
    ...triggerOf(job, parentKey),
    ...addressOf(job, aliases),
    next_run_at: isDue ? undefined : next,
    payload_message: messageOf(job, isShell),
    agent_id: isShell ? undefined : lowerCase(job['agent_id']),
    payload_kind: job['session_target'] === 'main' && !isShell ? job['payload_kind'] : undefined,
    payload_timeout_seconds: isShell ? undefined : job['payload_timeout_seconds'],
    payload_scope: isShell ? undefined : job['payload_scope'],
    session_target: isShell ? 'shell' : job['session_target'],
    run_timeout_ms: job['run_timeout_ms'] === USUAL_TIMEOUT_MS ? undefined : job['run_timeout_ms'],
    ...(isTurn(job, isShell) ? {} : { context_retrieval: undefined, context_retrieval_limit: undefined }),
  });
  return {
    key: String(job['id']),
    name,
    parentKey,
    fields,
    notes: [
      ...notesOf(job, isShell),
      ...unreadNote(unreadIn(job, defaults)),
      ...(isDue ? [`it was due at ${next} and had not run`] : []),
    ],
  };
}

/** As the gateway takes them, and as names are here. */
function lowerCase(name: unknown): unknown {
  return typeof name === 'string' ? name.toLowerCase() : name;
}

/** A command has no agent, and an event in the main session no reply. */
function isTurn(job: SchedulerJob, isShell: boolean): boolean {
  return !isShell && (job['session_target'] !== 'main' || job['payload_kind'] === 'agentTurn');
}

function triggerOf(job: SchedulerJob, parentKey: string | null): Record<string, unknown> {
  if (parentKey !== null)
    return {
      schedule_tz: undefined,
      trigger_on: job['trigger_on'],
      trigger_delay_s: job['trigger_delay_s'],
      trigger_condition: job['trigger_condition'],
    };
  const at = job['schedule_kind'] === 'at' ? utc(job['schedule_at']) : null;
  return at === null ? { schedule_cron: job['schedule_cron'] } : { schedule_at: at };
}

/** Failures, a pause or a hand may have put it where its rule does not; null where only a rule decides. */
function nextOf(job: SchedulerJob, parentKey: string | null): string | null {
  const isClocked = parentKey === null && job['schedule_kind'] !== 'at' && job['enabled'] !== 0;
  const next = isClocked ? utc(job['next_run_at']) : null;
  return next === null || Number.isNaN(Date.parse(next)) ? null : next;
}

/** Its times are UTC, and do not say so. */
function utc(time: unknown): string | null {
  if (typeof time !== 'string') return null;
  return /(?:Z|[+-]\d\d:\d\d)$/.test(time) ? time : `${time.replace(' ', 'T')}Z`;
}

/** There a name of an alias goes before any channel, with its @ or without. */
function addressOf(job: SchedulerJob, aliases: ReadonlySet<string>): Record<string, unknown> {
  const { delivery_to: to } = job;
  const alias = typeof to === 'string' ? to.replace(/^@/, '') : '';
  return aliases.has(alias) ? { delivery_channel: undefined, delivery_to: `@${alias}` } : {};
}

/** There each prompt began with the boundary of its job; here the payload says it. */
function messageOf(job: SchedulerJob, isShell: boolean): unknown {
  const message = job['payload_message'];
  if (isShell || typeof message !== 'string') return message;
  const boundaries = [
    ...(job['execution_intent'] === 'plan' ? ['Only plan: say what you would do, and do none of it.'] : []),
    ...(isSaid(job['execution_read_only']) ? ['Only read: change nothing anywhere.'] : []),
  ];
  return [...boundaries, message].join('\n');
}

function notesOf(job: SchedulerJob, isShell: boolean): string[] {
  const forgets = !isTurn(job, isShell) && ['recent', 'hybrid'].includes(String(job['context_retrieval']));
  const isToldMore =
    isTurn(job, isShell) && job['delivery_mode'] === 'announce' && isSaid(job['delivery_to']);
  const behind = Object.entries(LEFT_BEHIND).filter(([column]) => isSaid(job[column]));
  return [
    ...(forgets ? ['its context_retrieval stays behind: only turns of an agent have a reply'] : []),
    ...(isToldMore ? [TOLD_MORE] : []),
    ...behind.map(([, what]) => what.replace(':', ' stays behind:')),
  ];
}

function unreadIn(job: SchedulerJob, defaults: Around['defaults']): string[] {
  const said = Object.entries(job).filter(
    ([column, value]) =>
      isSaid(value) && value !== defaults.get(column) && !READ.has(column) && !HISTORY.test(column),
  );
  return said.map(([column]) => column);
}
