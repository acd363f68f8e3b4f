/** Approvals: one row per gated job, made with it, asked for when the job comes to its gate. */

import type { ApprovalAuto } from '../../domain/schedule.ts';
import type { ApprovalFilter, ApprovalRecord, ApprovalRow, ApprovalStatus } from '../types/scheduling.ts';
import { type KeyQuery, locking, perDialect, type Row, type Shape, type Sql, type Value } from './driver.ts';

const COLUMNS = [
  ['job_no', 'bigint'],
  ['schedule_id', 'text'],
  ['status', 'text'],
  ['timeout_ms', 'bigint'],
  ['auto', 'text'],
  ['hash', 'text'],
  ['requested_at', 'bigint'],
  ['expires_at', 'bigint'],
  ['resolved_at', 'bigint'],
  ['resolved_by', 'text'],
  ['notes', 'text'],
] as const satisfies Shape['columns'];
const APPROVAL: Shape = { table: 'approval', columns: COLUMNS };
const SELECTED = COLUMNS.map(([name]) => `approval.${name}`).join(', ');

function approvalFrom(row: Row): ApprovalRow {
  return {
    jobNo: row[0] as number,
    scheduleId: row[1] as string | null,
    status: row[2] as ApprovalStatus,
    timeoutMs: row[3] as number,
    auto: row[4] as ApprovalAuto,
    hash: row[5] as string,
    requestedAt: row[6] as number | null,
    expiresAt: row[7] as number | null,
    resolvedAt: row[8] as number | null,
    resolvedBy: row[9] as string | null,
    notes: row[10] as string | null,
  };
}

export function insertApproval(sql: Sql, row: ApprovalRow) {
  const { jobNo, scheduleId, status, timeoutMs, auto, hash } = row;
  return sql.insert(APPROVAL, [
    [
      jobNo,
      scheduleId,
      status,
      timeoutMs,
      auto,
      hash,
      row.requestedAt,
      row.expiresAt,
      row.resolvedAt,
      row.resolvedBy,
      row.notes,
    ],
  ]);
}

/** A job that was opened again comes to its gate a second time: then it is asked for anew. */
export async function requestApproval(sql: Sql, jobNo: number, now: number): Promise<void> {
  const text = `update approval set status = 'pending', requested_at = $2, expires_at = $2 + timeout_ms,
    resolved_at = null, resolved_by = null, notes = null where job_no = $1`;
  await sql.run(text, [jobNo, now]);
}

const lock = perDialect(
  (dialect) => `select ${SELECTED} from approval where job_no = $1${locking({ dialect }, 'for update')}`,
);

export async function lockApproval(sql: Sql, jobNo: number): Promise<ApprovalRow | null> {
  const [row] = await sql.all(lock(sql), [jobNo]);
  return row === undefined ? null : approvalFrom(row);
}

export async function resolveApproval(
  sql: Sql,
  jobNo: number,
  end: Pick<ApprovalRow, 'status' | 'resolvedAt' | 'resolvedBy' | 'notes'>,
): Promise<void> {
  const text =
    "update approval set status = $2, resolved_at = $3, resolved_by = $4, notes = $5 where job_no = $1 and status = 'pending'";
  await sql.run(text, [jobNo, end.status, end.resolvedAt, end.resolvedBy, end.notes]);
}

export async function pendingApprovals(sql: Sql, scheduleId: string): Promise<number> {
  const text = "select count(*) from approval where schedule_id = $1 and status = 'pending'";
  return (await sql.all(text, [scheduleId]))[0]?.[0] as number;
}

const RECORD = `select ${SELECTED}, input.id, input.title from approval
  join job_input input on input.job_no = approval.job_no where approval.requested_at is not null`;

function recordFrom(row: Row): ApprovalRecord {
  return {
    ...approvalFrom(row),
    jobId: row[COLUMNS.length] as string,
    title: row[COLUMNS.length + 1] as string | null,
  };
}

export async function approvals(sql: Sql, filter: ApprovalFilter): Promise<ApprovalRecord[]> {
  const params: Value[] = [];
  const bind = (value: Value): string => `$${params.push(value)}`;
  const status = filter.status === undefined ? '' : ` and approval.status = ${bind(filter.status)}`;
  const schedule =
    filter.scheduleId === undefined ? '' : ` and approval.schedule_id = ${bind(filter.scheduleId)}`;
  const before = filter.before === undefined ? '' : ` and approval.job_no < ${bind(filter.before)}`;
  const text = `${RECORD}${status}${schedule}${before} order by approval.job_no desc limit ${bind(filter.limit)} + 0`;
  return (await sql.all(text, params)).map(recordFrom);
}

export async function approval(sql: Sql, jobNo: number): Promise<ApprovalRecord | null> {
  const [row] = await sql.all(`${RECORD} and approval.job_no = $1`, [jobNo]);
  return row === undefined ? null : recordFrom(row);
}

const byNo: KeyQuery = {
  one: `select ${SELECTED} from approval where job_no = $1`,
  many: `select ${SELECTED} from approval where job_no = any($1::bigint[])`,
};

export async function approvalsByNo(sql: Sql, jobNos: readonly number[]): Promise<ApprovalRow[]> {
  return (await sql.byKeys(byNo, jobNos)).map(approvalFrom);
}

export async function expiredApprovals(sql: Sql, now: number, limit: number) {
  const text =
    "select job_no, auto from approval where status = 'pending' and expires_at <= $1 order by expires_at limit $2 + 0";
  return (await sql.all(text, [now, limit])).map((row) => ({
    jobNo: row[0] as number,
    auto: row[1] as ApprovalAuto,
  }));
}

export async function nextApprovalAt(sql: Sql): Promise<number | null> {
  const text = "select min(expires_at) from approval where status = 'pending'";
  return ((await sql.all(text, []))[0]?.[0] ?? null) as number | null;
}
