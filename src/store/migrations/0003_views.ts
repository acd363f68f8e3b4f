/** The scheduler's tables under the names of its text, for people who ask with SQL. Read-only. */

type Dialect = 'sqlite' | 'postgres';

/** Fields of a schedule that live in its spec, as the text names them. */
const SPEC_FIELDS = [
  'schedule_kind',
  'schedule_cron',
  'schedule_tz',
  'session_target',
  'agent_id',
  'payload_kind',
  'payload_message',
  'payload_model',
  'payload_thinking',
  'payload_timeout_seconds',
  'payload_scope',
  'overlap_policy',
  'run_timeout_ms',
  'max_retries',
  'resource_pool',
  'trigger_on',
  'trigger_delay_s',
  'trigger_condition',
  'delivery_mode',
  'delivery_channel',
  'delivery_to',
  'delivery_guarantee',
  'delete_after_run',
  'job_class',
  'approval_required',
  'approval_timeout_s',
  'approval_auto',
  'context_retrieval',
  'context_retrieval_limit',
] as const;

export function viewsFor(dialect: Dialect): string {
  const time = timeIn(dialect);
  const field = (name: string): string =>
    dialect === 'sqlite'
      ? `json_extract(schedule.spec, '$.${camel(name)}') as ${name}`
      : `(schedule.spec::jsonb ->> '${camel(name)}') as ${name}`;
  return `
create view jobs as
select schedule.id, schedule.name, schedule.enabled, schedule.parent_id, ${SPEC_FIELDS.map(field).join(', ')},
  (select count(*) from run where run.schedule_id = schedule.id and run.active = 2) as queued_count,
  ${time('schedule.next_run_at')} as next_run_at, ${time('schedule.last_run_at')} as last_run_at,
  schedule.last_status, schedule.consecutive_errors, ${time('schedule.created_at')} as created_at,
  ${time('schedule.updated_at')} as updated_at
from schedule;
${runsView(dialect, STARTED_AT)}create view approvals as
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
create view schema_migrations as
select version, name, checksum from migration;
`;
}

const STARTED_AT = "(select min(at) from event where event.job_no = job.no and event.kind = 'job.claimed')";

export function runsView(dialect: Dialect, started: string): string {
  const time = timeIn(dialect);
  const usage = dialect === 'sqlite' ? "json_extract(result, '$.usage')" : "(result::jsonb ->> 'usage')";
  return `create view runs as
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
  job.finished_at - ${started} as duration_ms,
  job_result.result as output, job_result.error as error_message, ${time('run.last_heartbeat')} as last_heartbeat,
  run.session_key, triggering.id as triggered_by_run,
  case when run.kind = 'replay' then null else earlier.id end as retry_of, job.retry_count,
  case when run.kind = 'replay' then earlier.id end as replay_of, run.context_summary,
  ${usage} as usage, job.reason, run.kind, ${time('run.due_at')} as due_at, ${time('job.created_at')} as created_at
from run
join job on job.no = run.job_no
left join job_result on job_result.job_no = job.no
left join job triggering on triggering.no = run.triggered_by
left join job earlier on earlier.no = job.retry_of;
`;
}

function timeIn(dialect: Dialect): (column: string) => string {
  return (column) =>
    dialect === 'sqlite'
      ? `strftime('%Y-%m-%dT%H:%M:%fZ', ${column} / 1000.0, 'unixepoch')`
      : `to_char(to_timestamp(${column} / 1000.0) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

function camel(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}
