/**
 * The scheduler's tables under the names of its text, for people who ask with SQL: times compare with the database's own
 * (`datetime('now')`, `now()`), and a flag is 1 or 0. All are read-only but the aliases.
 */

import type { Dialect } from './dialect.ts';

/** Fields of a schedule that live in its spec, as the text names them. */
const TEXTS = [
  'schedule_kind',
  'schedule_cron',
  'schedule_tz',
  'session_target',
  'agent_id',
  'payload_kind',
  'payload_message',
  'payload_model',
  'payload_thinking',
  'payload_scope',
  'overlap_policy',
  'resource_pool',
  'trigger_on',
  'trigger_condition',
  'delivery_mode',
  'delivery_channel',
  'delivery_to',
  'delivery_guarantee',
  'job_class',
  'approval_auto',
  'context_retrieval',
];
const NUMBERS = [
  'payload_timeout_seconds',
  'run_timeout_ms',
  'max_retries',
  'trigger_delay_s',
  'approval_timeout_s',
  'context_retrieval_limit',
];
const FLAGS = ['delete_after_run', 'approval_required'];

/** When the job was first claimed. */
const STARTED_AT =
  "(select min(event.at) from event where event.job_no = job.no and event.kind = 'job.claimed')";

const SUMMARY_CHARS = 500;

export function views(dialect: Dialect): string {
  const time = timeIn(dialect);
  return `
-- The schedules, which the text calls jobs.
create view jobs as
select schedule.id, schedule.name, schedule.enabled, schedule.parent_id, ${specFields(dialect).join(', ')},
  (select count(*) from run where run.schedule_id = schedule.id and run.active = 2) as queued_count,
  ${time('schedule.next_run_at')} as next_run_at, ${time('schedule.last_run_at')} as last_run_at,
  schedule.last_status, schedule.consecutive_errors, ${time('schedule.created_at')} as created_at,
  ${time('schedule.updated_at')} as updated_at
from schedule;

-- The jobs that schedules made.
create view runs as
select job.id, run.schedule_id as job_id,
  case
    when job.state in ('failed', 'dead') and job.cause in ('timeout', 'stale') then 'timeout'
    when job.state in ('failed', 'dead') and job.cause = 'crashed' then 'crashed'
    when job.state in ('failed', 'dead') then 'error'
    when job.state = 'done' then 'ok'
    when job.state in ('queued', 'scheduled', 'blocked') then 'pending'
    else job.state
  end as status,
  ${time(STARTED_AT)} as started_at, ${time('job.finished_at')} as finished_at,
  job.finished_at - ${STARTED_AT} as duration_ms, ${summaryIn(dialect)} as summary,
  job_result.result as output, job_result.error as error_message, ${time('run.last_heartbeat')} as last_heartbeat,
  run.session_key, triggering.id as triggered_by_run,
  case when run.kind = 'replay' then null else earlier.id end as retry_of, job.retry_count,
  case when run.kind = 'replay' then earlier.id end as replay_of, run.context_summary, run.prompt_hash,
  ${usageIn(dialect)} as usage,
  job.reason, run.kind, ${time('run.due_at')} as due_at, ${time('job.created_at')} as created_at
from run
join job on job.no = run.job_no
left join job_result on job_result.job_no = job.no
left join job triggering on triggering.no = run.triggered_by
left join job earlier on earlier.no = job.retry_of;

-- Approvals that were asked for.
create view approvals as
select job.id, approval.schedule_id as job_id, job.id as run_id, approval.status,
  ${time('approval.requested_at')} as requested_at, ${time('approval.resolved_at')} as resolved_at,
  approval.resolved_by, approval.notes
from approval join job on job.no = approval.job_no where approval.requested_at is not null;

-- Messages between agents.
create view messages as
select message.id, sender as from_agent, recipient as to_agent, kind, subject, body, priority, owner, reply_to,
  schedule_id as job_id,
  case
    when kind = 'spawn' then status
    when ${everyReceipt('read_at')} then 'read'
    when ${everyReceipt('delivered_at')} then 'delivered'
    when expires_at <= ${dialect.name === 'sqlite' ? sqliteNow : postgresNow} then 'expired'
    else 'pending'
  end as status,
  error, ${time('created_at')} as created_at,
  ${time(`case when ${everyReceipt('delivered_at')} then (select max(delivered_at) from receipt where message_no = message.no) else delivered_at end`)} as delivered_at,
  ${time(`case when ${everyReceipt('read_at')} then (select max(read_at) from receipt where message_no = message.no) end`)} as read_at,
  ${time('expires_at')} as expires_at
from message;

-- What became of them, for each recipient.
create view receipts as
select message.id as message_id, agent, ${time('receipt.delivered_at')} as delivered_at, ${time('receipt.read_at')} as read_at
from receipt join message on message.no = receipt.message_no;

-- Who sends and receives them.
create view agents as
select id, name, status, ${time('last_seen_at')} as last_seen_at, capabilities, ${time('created_at')} as created_at from agent;

-- Names for places that results are delivered to. This one can be written.
create view delivery_aliases as
select alias, channel, target, description, ${time('created_at')} as created_at from alias;
${dialect.name === 'sqlite' ? SQLITE_ALIASES : POSTGRES_ALIASES}
-- The steps of the schema that this database has.
create view schema_migrations as
select version, name, checksum from migration;
`;
}

function specFields({ name: dialect }: Dialect): string[] {
  const of = (name: string): string =>
    dialect === 'sqlite'
      ? `json_extract(schedule.spec, '$.${camel(name)}')`
      : `(schedule.spec::json ->> '${camel(name)}')`;
  const number = (name: string): string => (dialect === 'sqlite' ? of(name) : `${of(name)}::bigint`);
  const flag = (name: string): string => (dialect === 'sqlite' ? of(name) : `${of(name)}::boolean::int`);
  return [
    ...TEXTS.map((name) => `${of(name)} as ${name}`),
    ...NUMBERS.map((name) => `${number(name)} as ${name}`),
    ...FLAGS.map((name) => `${flag(name)} as ${name}`),
  ];
}

/** It is so for all recipients, and there are some. */
function everyReceipt(column: string): string {
  const some = 'select 1 from receipt where message_no = message.no';
  return `(exists (${some}) and not exists (${some} and receipt.${column} is null))`;
}

/** The beginning of what it said: an agent's words, what a command printed, or the whole result. */
function summaryIn({ name }: Dialect): string {
  const result = readable('result');
  return name === 'sqlite'
    ? `substr(case json_type(result) when 'text' then json_extract(result, '$')
        else coalesce(json_extract(result, '$.text'), json_extract(result, '$.stdout'), result) end, 1, ${SUMMARY_CHARS})`
    : `left(case when json_typeof(${result}) = 'string' then ${result} #>> '{}'
        else coalesce(${result} ->> 'text', ${result} ->> 'stdout', result) end, ${SUMMARY_CHARS})`;
}

/** What a turn took, a failed one too. A gateway's names become those of the text. */
function usageIn({ name }: Dialect): string {
  const [result, error] = ['result', 'error'].map((column) =>
    name === 'sqlite' ? `json_extract(${column}, '$.usage')` : `${readable(column)} ->> 'usage'`,
  );
  return ['input', 'output', 'total'].reduce(
    (usage, kind) => `replace(${usage}, '"${kind}Tokens"', '"${kind}_tokens"')`,
    `coalesce(${result}, ${error})`,
  );
}

/** PostgreSQL has no text with a NUL or half a character in it, and would refuse the whole answer. */
function readable(column: string): string {
  return `regexp_replace(${column}, '\\\\u(0000|d[89a-f][0-9a-f]{2})', '\\\\ufffd', 'g')::json`;
}

function timeIn({ name }: Dialect): (column: string) => string {
  return (column) =>
    name === 'sqlite'
      ? `strftime('%Y-%m-%d %H:%M:%S', ${column} / 1000, 'unixepoch')`
      : `to_timestamp(${column} / 1000.0)`;
}

function camel(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

// Whoever writes here has no server to tell the time.
const sqliteNow = "cast(unixepoch('subsec') * 1000 as integer)";
const postgresNow = '(extract(epoch from clock_timestamp()) * 1000)::bigint';

const SQLITE_ALIASES = `
create trigger delivery_aliases_insert instead of insert on delivery_aliases begin
  insert into alias (alias, channel, target, description, created_at)
  values (new.alias, new.channel, new.target, new.description,
    ${sqliteNow});
end;
create trigger delivery_aliases_update instead of update on delivery_aliases begin
  update alias set alias = new.alias, channel = new.channel, target = new.target, description = new.description
  where alias = old.alias;
end;
create trigger delivery_aliases_delete instead of delete on delivery_aliases begin
  delete from alias where alias = old.alias;
end;
`;

// Such a simple view PostgreSQL writes through by itself; only the time has to come from somewhere.
const POSTGRES_ALIASES = `
alter table alias alter column created_at set default
  ${postgresNow};
`;
