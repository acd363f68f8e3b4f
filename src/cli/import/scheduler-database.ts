/** The database of the scheduler whose text this one follows. It is read and never written. */

import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { usage } from '../failure.ts';
import { type Foreign, present, type Source, type Unfit } from './foreign.ts';

const ROWS = 10_000;
/** Columns that mean the same here. */
const SAME = [
  'schedule_tz',
  'session_target',
  'payload_message',
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

type Job = Readonly<Record<string, unknown>>;

export async function readSchedulerDatabase(file: string): Promise<Source> {
  const jobs = await jobsOf(file);
  const schedules: Foreign[] = [];
  const unfit: Unfit[] = [];
  for (const job of jobs) {
    const name = String(job['name']);
    if (job['parent_id'] !== null && job['parent_id'] !== undefined && job['trigger_on'] === null)
      unfit.push({ name, reason: 'it has a parent, and no end of it that would start it' });
    else schedules.push(scheduleOf(job, name));
  }
  return { kind: 'scheduler', schedules, unfit };
}

async function jobsOf(file: string): Promise<Job[]> {
  const { DatabaseSync } = await import('node:sqlite');
  const url = pathToFileURL(file);
  // Without a log beside it nobody has it open: then not even a lock is taken. With one the newest jobs stand there.
  if (!existsSync(`${file}-wal`)) url.searchParams.set('immutable', '1');
  const database = new DatabaseSync(url, { readOnly: true });
  try {
    const columns = database.prepare("select name from pragma_table_info('jobs')").all();
    const names = columns.map(({ name }) => name);
    if (!['id', 'name', 'schedule_cron', 'payload_message'].every((name) => names.includes(name)))
      throw usage(`${file} is an SQLite database, but not that of a scheduler: it has no such table jobs.`);
    return database.prepare('select * from jobs order by created_at, id limit ?').all(ROWS);
  } finally {
    database.close();
  }
}

function scheduleOf(job: Job, name: string): Foreign {
  const parentKey = typeof job['parent_id'] === 'string' ? job['parent_id'] : null;
  const isShell = job['session_target'] === 'shell' || job['payload_kind'] === 'shellCommand';
  const fields = present({
    ...Object.fromEntries(SAME.map((column) => [column, job[column]])),
    name,
    enabled: job['enabled'] !== 0,
    ...triggerOf(job, parentKey),
    agent_id: isShell ? undefined : job['agent_id'],
    payload_kind: job['session_target'] === 'main' && !isShell ? job['payload_kind'] : undefined,
    payload_timeout_seconds: isShell ? undefined : job['payload_timeout_seconds'],
    payload_scope: isShell ? undefined : job['payload_scope'],
    session_target: isShell ? 'shell' : job['session_target'],
    run_timeout_ms: job['run_timeout_ms'] === USUAL_TIMEOUT_MS ? undefined : job['run_timeout_ms'],
    ...(isTurn(job, isShell) ? {} : { context_retrieval: undefined, context_retrieval_limit: undefined }),
  });
  const forgets = !isTurn(job, isShell) && ['recent', 'hybrid'].includes(String(job['context_retrieval']));
  const notes = forgets ? ['its context_retrieval stays behind: only turns of an agent have a reply'] : [];
  return { key: String(job['id']), name, parentKey, fields, notes };
}

/** A command has no agent, and an event in the main session no reply. */
function isTurn(job: Job, isShell: boolean): boolean {
  return !isShell && (job['session_target'] !== 'main' || job['payload_kind'] === 'agentTurn');
}

function triggerOf(job: Job, parentKey: string | null): Record<string, unknown> {
  if (parentKey !== null)
    return {
      schedule_tz: undefined,
      trigger_on: job['trigger_on'],
      trigger_delay_s: job['trigger_delay_s'],
      trigger_condition: job['trigger_condition'],
    };
  const at = job['schedule_kind'] === 'at' ? job['schedule_at'] : null;
  // Its times are UTC, and do not say so.
  if (typeof at === 'string') return { schedule_at: /(?:Z|[+-]\d\d:\d\d)$/.test(at) ? at : `${at}Z` };
  return { schedule_cron: job['schedule_cron'] };
}
