/** Approvals: made with their jobs, asked for when the job comes up for approval, and decided once. */

import type { Approval } from '../../domain/approval.ts';
import { locking, perDialect, type Sql } from '../sql/driver.ts';
import { first } from '../sql/rows.ts';
import { insertInto } from '../sql/table.ts';
import { APPROVAL } from '../sql/tables.ts';

export function insert(sql: Sql, approval: Approval) {
  return insertInto(sql, APPROVAL, [approval]);
}

/**
 * The job has come up for approval: from now on somebody may decide. A job that was opened again comes up a second
 * time: then it is asked for anew.
 */
export async function request(sql: Sql, jobNo: number, now: number): Promise<void> {
  const text = `update approval set status = 'pending', requested_at = $2, expires_at = $2 + timeout_ms,
    resolved_at = null, resolved_by = null, notes = null where job_no = $1`;
  await sql.run(text, [jobNo, now]);
}

const locked = perDialect(
  (dialect) =>
    `select ${APPROVAL.selected} from approval where job_no = $1${locking({ dialect }, 'for update')}`,
);

export async function lock(sql: Sql, jobNo: number): Promise<Approval | null> {
  const row = await first(sql, locked(sql), [jobNo]);
  return row && APPROVAL.from(row);
}

export async function resolve(
  sql: Sql,
  jobNo: number,
  end: Pick<Approval, 'status' | 'resolvedAt' | 'resolvedBy' | 'notes'>,
): Promise<void> {
  const text =
    "update approval set status = $2, resolved_at = $3, resolved_by = $4, notes = $5 where job_no = $1 and status = 'pending'";
  await sql.run(text, [jobNo, end.status, end.resolvedAt, end.resolvedBy, end.notes]);
}
