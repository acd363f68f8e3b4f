/** Approvals: one row for each job that needs one, asked for when the job comes up for approval. */

import type { Approval, ApprovalAuto, ApprovalFilter, ApprovalRecord } from '../../domain/approval.ts';
import { byNumber, type Row, type Sql, type Value } from '../sql/driver.ts';
import { first, only } from '../sql/rows.ts';
import { APPROVAL } from '../sql/tables.ts';

const RECORD = `select ${APPROVAL.selected}, input.id, input.title from approval
  join job_input input on input.job_no = approval.job_no where approval.requested_at is not null`;

function recordFrom(row: Row): ApprovalRecord {
  const [jobId, title] = row.slice(APPROVAL.width);
  return { ...APPROVAL.from(row), jobId: jobId as string, title: title as string | null };
}

/** Of those that were asked for, newest first. */
export async function list(sql: Sql, filter: ApprovalFilter): Promise<ApprovalRecord[]> {
  const params: Value[] = [];
  const bind = (value: Value): string => `$${params.push(value)}`;
  const status = filter.status === undefined ? '' : ` and approval.status = ${bind(filter.status)}`;
  const schedule =
    filter.scheduleId === undefined ? '' : ` and approval.schedule_id = ${bind(filter.scheduleId)}`;
  const before = filter.before === undefined ? '' : ` and approval.job_no < ${bind(filter.before)}`;
  const text = `${RECORD}${status}${schedule}${before} order by approval.job_no desc limit ${bind(filter.limit)} + 0`;
  return (await sql.all(text, params)).map(recordFrom);
}

/** The one that was asked for this job. */
export async function asked(sql: Sql, jobNo: number): Promise<ApprovalRecord | null> {
  const row = await first(sql, `${RECORD} and approval.job_no = $1`, [jobNo]);
  return row && recordFrom(row);
}

const ofJobs = byNumber(`select ${APPROVAL.selected} from approval`, 'job_no');

/** Of those jobs that need one, asked for or not. */
export async function byNo(sql: Sql, jobNos: readonly number[]): Promise<Approval[]> {
  return (await sql.byKeys(ofJobs, jobNos)).map((row) => APPROVAL.from(row));
}

export async function expired(
  sql: Sql,
  now: number,
  limit: number,
): Promise<{ jobNo: number; auto: ApprovalAuto }[]> {
  const text =
    "select job_no, auto from approval where status = 'pending' and expires_at <= $1 order by expires_at limit $2 + 0";
  return (await sql.all(text, [now, limit])).map(([jobNo, auto]) => ({
    jobNo: jobNo as number,
    auto: auto as ApprovalAuto,
  }));
}

/** When the next of them expires. */
export function nextAt(sql: Sql): Promise<number | null> {
  return only<number | null>(sql, "select min(expires_at) from approval where status = 'pending'", []);
}

export function countPending(sql: Sql, scheduleId: string): Promise<number> {
  const text = "select count(*) from approval where schedule_id = $1 and status = 'pending'";
  return only<number>(sql, text, [scheduleId]);
}
