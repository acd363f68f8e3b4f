/**
 * The scheduler's tables under the names of its text, once more: times compare with the database's own (`datetime('now')`,
 * `now()`), numbers are numbers, runs have their summary, and aliases can be written through their view.
 */

import { POSTGRES_STARTED_AT, SQLITE_STARTED_AT } from './0006_events_in_flush.ts';
import type { Migration } from './migration.ts';

type Dialect = 'sqlite' | 'postgres';

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
/** 1 or 0, as `enabled` is. */
const FLAGS = ['delete_after_run', 'approval_required'];

const NAMES = ['jobs', 'runs', 'approvals', 'messages', 'agents', 'delivery_aliases'];
const SUMMARY_CHARS = 500;

function viewsFor(dialect: Dialect, started: string): string {
  const time = timeIn(dialect);
  return `
${NAMES.map((name) => `drop view ${name};`).join('\n')}
create view jobs as
select schedule.id, schedule.name, schedule.enabled, schedule.parent_id, ${specFields(dialect).join(', ')},
  (select count(*) from run where run.schedule_id = schedule.id and run.active = 2) as queued_count,
  ${time('schedule.next_run_at')} as next_run_at, ${time('schedule.last_run_at')} as last_run_at,
  schedule.last_status, schedule.consecutive_errors, ${time('schedule.created_at')} as created_at,
  ${time('schedule.updated_at')} as updated_at
from schedule;
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
  ${time(started)} as started_at, ${time('job.finished_at')} as finished_at,
  job.finished_at - ${started} as duration_ms, ${summaryIn(dialect)} as summary,
  job_result.result as output, job_result.error as error_message, ${time('run.last_heartbeat')} as last_heartbeat,
  run.session_key, triggering.id as triggered_by_run,
  case when run.kind = 'replay' then null else earlier.id end as retry_of, job.retry_count,
  case when run.kind = 'replay' then earlier.id end as replay_of, run.context_summary,
  ${dialect === 'sqlite' ? "json_extract(result, '$.usage')" : "(result::json ->> 'usage')"} as usage,
  job.reason, run.kind, ${time('run.due_at')} as due_at, ${time('job.created_at')} as created_at
from run
join job on job.no = run.job_no
left join job_result on job_result.job_no = job.no
left join job triggering on triggering.no = run.triggered_by
left join job earlier on earlier.no = job.retry_of;
create view approvals as
select job.id, approval.schedule_id as job_id, job.id as run_id, approval.status,
  ${time('approval.requested_at')} as requested_at, ${time('approval.resolved_at')} as resolved_at,
  approval.resolved_by, approval.notes
from approval join job on job.no = approval.job_no where approval.requested_at is not null;
create view messages as
select message.id, sender as from_agent, recipient as to_agent, kind, subject, body, priority, owner, reply_to,
  schedule_id as job_id, status, error, ${time('created_at')} as created_at, ${time('delivered_at')} as delivered_at,
  ${time('read_at')} as read_at, ${time('expires_at')} as expires_at
from message;
create view agents as
select id, name, status, ${time('last_seen_at')} as last_seen_at, capabilities, ${time('created_at')} as created_at from agent;
create view delivery_aliases as
select alias, channel, target, description, ${time('created_at')} as created_at from alias;
`;
}

function specFields(dialect: Dialect): string[] {
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

/** The beginning of what it said: an agent's words, what a command printed, or the whole result. */
function summaryIn(dialect: Dialect): string {
  return dialect === 'sqlite'
    ? `substr(case json_type(result) when 'text' then json_extract(result, '$')
        else coalesce(json_extract(result, '$.text'), json_extract(result, '$.stdout'), result) end, 1, ${SUMMARY_CHARS})`
    : // PostgreSQL has no text with a NUL in it, and would refuse the whole answer.
      `left(case when strpos(result, '\\u0000') > 0 then result
        when json_typeof(result::json) = 'string' then result::json #>> '{}'
        else coalesce(result::json ->> 'text', result::json ->> 'stdout', result) end, ${SUMMARY_CHARS})`;
}

function timeIn(dialect: Dialect): (column: string) => string {
  return (column) =>
    dialect === 'sqlite'
      ? `strftime('%Y-%m-%d %H:%M:%S', ${column} / 1000, 'unixepoch')`
      : `to_timestamp(${column} / 1000.0)`;
}

function camel(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

// Whoever writes here has no server to tell the time.
const sqliteNow = "cast(unixepoch('subsec') * 1000 as integer)";
const postgresNow = '(extract(epoch from clock_timestamp()) * 1000)::bigint';

const sqliteAliases = `
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
const postgresAliases = `
alter table alias alter column created_at set default
  ${postgresNow};
`;

export const typedViews: Migration = {
  version: 9,
  name: 'typed views',
  breaking: false,
  sqlite: viewsFor('sqlite', SQLITE_STARTED_AT) + sqliteAliases,
  postgres: viewsFor('postgres', POSTGRES_STARTED_AT) + postgresAliases,
};
