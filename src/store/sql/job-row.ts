/** How a job lies in its row: three groups of columns, by how often they change. */

import type {
  Approval,
  EndingVerb,
  FailureCause,
  Job,
  LeasePolicy,
  RetryMode,
  Settlement,
  State,
} from '../../domain/job.ts';
import { perDialect, type Row, type Shape, type Value } from './driver.ts';
import { flushNote } from './flush-key.ts';

type Column = Shape['columns'][number];

const FIXED: readonly Column[] = [
  ['id', 'text'],
  ['type_no', 'bigint'],
  ['target', 'text'],
  ['created_at', 'bigint'],
  ['created_by', 'text'],
  ['lease_ms', 'bigint'],
  ['timeout_ms', 'bigint'],
  ['retry_mode', 'text'],
  ['retry_max', 'bigint'],
  ['backoff_ms', 'bigint'],
  ['retry_count', 'bigint'],
  ['retry_of', 'bigint'],
  ['root_no', 'bigint'],
  ['parent_no', 'bigint'],
  ['schedule_id', 'text'],
  ['unique_key', 'text'],
  ['pool', 'text'],
  ['concurrency_key', 'text'],
];
const OFTEN: readonly Column[] = [
  ['state', 'text'],
  ['updated_at', 'bigint'],
  ['attempts', 'bigint'],
  ['fence', 'bigint'],
  ['lease_token', 'text'],
  ['lease_until', 'bigint'],
  ['lease_policy', 'text'],
  ['claimed_by', 'text'],
  ['claim_id', 'text'],
  ['token_used', 'smallint'],
  ['timeout_at', 'bigint'],
  ['ended_token', 'text'],
  ['ended_verb', 'text'],
  ['ended_state', 'text'],
  ['settled', 'smallint'],
  ['finished_at', 'bigint'],
  ['reason', 'text'],
  ['progress', 'text'],
  ['seq', 'bigint'],
  ['lease_span_ms', 'bigint'],
];
const RARELY: readonly Column[] = [
  ['priority', 'bigint'],
  ['run_at', 'bigint'],
  ['max_attempts', 'bigint'],
  ['cancel_requested', 'smallint'],
  ['blocked_on', 'text'],
  ['waiting_for', 'bigint'],
  ['watched', 'smallint'],
  ['retry_at', 'bigint'],
  ['comments', 'bigint'],
  ['approval', 'text'],
  ['cause', 'text'],
];

const NO: Column = ['no', 'bigint'];
const ALL: readonly Column[] = [...FIXED, ...OFTEN, ...RARELY];

/** A claim and the end of a lease are most of all work: each writes only what it changes. */
const CLAIM: readonly Column[] = [
  ['state', 'text'],
  ['updated_at', 'bigint'],
  ['attempts', 'bigint'],
  ['fence', 'bigint'],
  ['lease_token', 'text'],
  ['lease_until', 'bigint'],
  ['lease_policy', 'text'],
  ['claimed_by', 'text'],
  ['claim_id', 'text'],
  ['timeout_at', 'bigint'],
  ['seq', 'bigint'],
  ['lease_span_ms', 'bigint'],
];
/** The end of a lease keeps its token, which the row has already. */
const ENDING: readonly Column[] = [
  ['state', 'text'],
  ['updated_at', 'bigint'],
  ['attempts', 'bigint'],
  ['ended_verb', 'text'],
  ['ended_state', 'text'],
  ['settled', 'smallint'],
  ['finished_at', 'bigint'],
  ['reason', 'text'],
  ['seq', 'bigint'],
];

export const JOB_RAW: Shape = { table: 'job', columns: [NO, ...ALL] };
export const JOB_RARELY: Shape = { table: 'job', columns: [NO, ...RARELY] };

/** The shapes in which a row changes. Each leaves a note of the flush that tells what happened. */
export const jobShapes = perDialect((dialect) => {
  const note = flushNote({ dialect });
  const noted = `flushes = job.flushes || ${note}`;
  const shape = (columns: readonly Column[], derived: string): Shape => ({
    table: 'job',
    columns: [NO, ...columns],
    derived: `${derived}${noted}`,
  });
  return {
    insert: { table: 'job', columns: ALL, given: [['flushes', note]] } satisfies Shape,
    often: shape(OFTEN, ''),
    claim: shape(CLAIM, 'token_used = 0, progress = null, '),
    ending: shape(
      ENDING,
      'ended_token = lease_token, lease_token = null, lease_until = null, lease_span_ms = null, claim_id = null, token_used = 0, timeout_at = null, ',
    ),
  };
});

/** The column of a job's field. */
export function columnOf(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** The columns to select, in the order that `jobFrom` reads them. */
export const JOB_COLUMNS: string = JOB_RAW.columns.map(([name]) => `job.${name}`).join(', ');
export const JOB_WIDTH: number = JOB_RAW.columns.length;

export function jobFrom(row: Row): Job {
  return {
    no: row[0] as number,
    id: row[1] as string,
    typeNo: row[2] as number,
    target: row[3] as string,
    createdAt: row[4] as number,
    createdBy: row[5] as string,
    leaseMs: row[6] as number,
    timeoutMs: row[7] as number | null,
    retryMode: row[8] as RetryMode,
    retryMax: row[9] as number,
    backoffMs: row[10] as number,
    retryCount: row[11] as number,
    retryOf: row[12] as number | null,
    rootNo: row[13] as number | null,
    parentNo: row[14] as number | null,
    scheduleId: row[15] as string | null,
    uniqueKey: row[16] as string | null,
    pool: row[17] as string | null,
    concurrencyKey: row[18] as string | null,
    state: row[19] as State,
    updatedAt: row[20] as number,
    attempts: row[21] as number,
    fence: row[22] as number,
    leaseToken: row[23] as string | null,
    leaseUntil: row[24] as number | null,
    leasePolicy: row[25] as LeasePolicy,
    claimedBy: row[26] as string | null,
    claimId: row[27] as string | null,
    tokenUsed: row[28] === 1,
    timeoutAt: row[29] as number | null,
    endedToken: row[30] as string | null,
    endedVerb: row[31] as EndingVerb | null,
    endedState: row[32] as State | null,
    settled: row[33] as Settlement,
    finishedAt: row[34] as number | null,
    reason: row[35] as string | null,
    progress: row[36] as string | null,
    seq: row[37] as number,
    leaseSpanMs: row[38] as number | null,
    priority: row[39] as number,
    runAt: row[40] as number,
    maxAttempts: row[41] as number,
    cancelRequested: row[42] === 1,
    blockedOn: row[43] as string | null,
    waitingFor: row[44] as number,
    watched: row[45] === 1,
    retryAt: row[46] as number | null,
    comments: row[47] as number,
    approval: row[48] as Approval,
    cause: row[49] as FailureCause | null,
  };
}

export function insertRow(job: Omit<Job, 'no'>): Row {
  return [...fixedValues(job), ...oftenValues(job), ...rarelyValues(job)];
}

export function rawRow(job: Job): Row {
  return [job.no, ...insertRow(job)];
}

export function oftenRow(job: Job): Row {
  return [job.no, ...oftenValues(job)];
}

function oftenValues(job: Omit<Job, 'no'>): Value[] {
  return [
    job.state,
    job.updatedAt,
    job.attempts,
    job.fence,
    job.leaseToken,
    job.leaseUntil,
    job.leasePolicy,
    job.claimedBy,
    job.claimId,
    job.tokenUsed ? 1 : 0,
    job.timeoutAt,
    job.endedToken,
    job.endedVerb,
    job.endedState,
    job.settled,
    job.finishedAt,
    job.reason,
    job.progress,
    job.seq,
    job.leaseSpanMs,
  ];
}

export function rarelyRow(job: Job): Row {
  return [job.no, ...rarelyValues(job)];
}

export function claimRow(job: Job): Row {
  return [
    job.no,
    job.state,
    job.updatedAt,
    job.attempts,
    job.fence,
    job.leaseToken,
    job.leaseUntil,
    job.leasePolicy,
    job.claimedBy,
    job.claimId,
    job.timeoutAt,
    job.seq,
    job.leaseSpanMs,
  ];
}

/** Whether this change is a claim and nothing else. */
export function isClaim(before: Job, after: Job): boolean {
  return (
    before.leaseToken === null &&
    after.leaseToken !== null &&
    !after.tokenUsed &&
    after.progress === null &&
    before.endedToken === after.endedToken &&
    before.endedVerb === after.endedVerb &&
    before.endedState === after.endedState &&
    before.settled === after.settled &&
    before.finishedAt === after.finishedAt &&
    before.reason === after.reason
  );
}

export function endingRow(job: Job): Row {
  return [
    job.no,
    job.state,
    job.updatedAt,
    job.attempts,
    job.endedVerb,
    job.endedState,
    job.settled,
    job.finishedAt,
    job.reason,
    job.seq,
  ];
}

/** Whether this change is the end of the lease that the row holds, and nothing else. */
export function endsLease(before: Job, after: Job): boolean {
  return (
    before.leaseToken !== null &&
    after.leaseToken === null &&
    after.endedToken === before.leaseToken &&
    after.leaseUntil === null &&
    after.leaseSpanMs === null &&
    after.claimId === null &&
    !after.tokenUsed &&
    after.timeoutAt === null &&
    before.fence === after.fence &&
    before.leasePolicy === after.leasePolicy &&
    before.claimedBy === after.claimedBy &&
    before.progress === after.progress
  );
}

/** Whether the second statement is needed at all. */
export function rarelyChanged(before: Job, after: Job): boolean {
  return (
    before.priority !== after.priority ||
    before.runAt !== after.runAt ||
    before.maxAttempts !== after.maxAttempts ||
    before.cancelRequested !== after.cancelRequested ||
    before.blockedOn !== after.blockedOn ||
    before.waitingFor !== after.waitingFor ||
    before.watched !== after.watched ||
    before.retryAt !== after.retryAt ||
    before.comments !== after.comments ||
    before.approval !== after.approval ||
    before.cause !== after.cause
  );
}

function fixedValues(job: Omit<Job, 'no'>): Value[] {
  return [
    job.id,
    job.typeNo,
    job.target,
    job.createdAt,
    job.createdBy,
    job.leaseMs,
    job.timeoutMs,
    job.retryMode,
    job.retryMax,
    job.backoffMs,
    job.retryCount,
    job.retryOf,
    job.rootNo,
    job.parentNo,
    job.scheduleId,
    job.uniqueKey,
    job.pool,
    job.concurrencyKey,
  ];
}

function rarelyValues(job: Omit<Job, 'no'>): Value[] {
  return [
    job.priority,
    job.runAt,
    job.maxAttempts,
    job.cancelRequested ? 1 : 0,
    job.blockedOn,
    job.waitingFor,
    job.watched ? 1 : 0,
    job.retryAt,
    job.comments,
    job.approval,
    job.cause,
  ];
}
