/** What a job has beside its row when a schedule made it. */

import type { Run, RunActivity, RunNote } from '../../domain/run.ts';
import type { Sql, Value } from '../sql/driver.ts';
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
} as const satisfies Record<keyof RunNote, string>;

/** What is left out stays as it was; null takes back what was written. */
export async function note(sql: Sql, jobNo: number, noted: RunNote): Promise<void> {
  const params: Value[] = [jobNo];
  const sets = Object.entries(NOTES).flatMap(([key, column]) => {
    const value = noted[key as keyof RunNote];
    return value === undefined ? [] : [`${column} = $${params.push(value)}`];
  });
  if (sets.length > 0) await sql.run(`update run set ${sets.join(', ')} where job_no = $1`, params);
}
