/** What a job has beside its row when a schedule made it. */

import type { Run, RunActivity, RunNote } from '../../domain/run.ts';
import type { Shape, Sql, Value } from '../sql/driver.ts';
import { insertInto } from '../sql/table.ts';
import { RUN } from '../sql/tables.ts';

export function insert(sql: Sql, rows: readonly Run[]) {
  return insertInto(sql, RUN, rows);
}

export async function setActivity(sql: Sql, jobNo: number, active: RunActivity): Promise<void> {
  await sql.run('update run set active = $2 where job_no = $1', [jobNo, active]);
}

const NOTES = {
  sessionKey: 'session_key',
  transport: 'transport',
  dispatchedAt: 'dispatched_at',
  lastHeartbeat: 'last_heartbeat',
  contextSummary: 'context_summary',
  promptHash: 'prompt_hash',
} as const satisfies Record<Exclude<keyof RunNote, 'prompt'>, string>;

const PROMPT: Shape = {
  table: 'run_prompt',
  columns: [
    ['job_no', 'bigint'],
    ['prompt', 'text'],
  ],
  onConflict: 'on conflict (job_no) do update set prompt = excluded.prompt',
};

/** What is left out stays as it was; null takes back what was written. */
export async function note(sql: Sql, jobNo: number, noted: RunNote): Promise<void> {
  const params: Value[] = [jobNo];
  const sets = Object.entries(NOTES).flatMap(([key, column]) => {
    const value = noted[key as keyof typeof NOTES];
    return value === undefined ? [] : [`${column} = $${params.push(value)}`];
  });
  if (sets.length > 0) await sql.run(`update run set ${sets.join(', ')} where job_no = $1`, params);
  if (noted.prompt === null) await sql.run('delete from run_prompt where job_no = $1', [jobNo]);
  else if (noted.prompt !== undefined) await sql.insert(PROMPT, [[jobNo, noted.prompt]]);
}
