/** What lines tell of jobs beside their rows. */

import type { Job, JobDetails, Outcome } from '../domain/job.ts';
import type { Reads } from '../store/store.ts';
import type { EventLine, ApprovalFacts, RunOrigin } from './journal-line.ts';
import type { Origin } from './journal-print.ts';
import type { Seen } from './journal-rows.ts';

export type BesideReads = Pick<Reads, 'details' | 'dependencies' | 'runs' | 'approvals' | 'checkpoints'>;

export interface Beside {
  /** Of those whose whole row was read. */
  readonly details: ReadonlyMap<number, JobDetails>;
  /** Of the others that have one. */
  readonly outcomes: ReadonlyMap<number, Outcome>;
  /** Of those that have one. */
  readonly checkpoints: ReadonlyMap<number, string>;
  /** Of those that start. */
  readonly origins: Origins;
}

type Origins = (jobNo: number) => Pick<EventLine, Origin>;

const NO_DETAILS: Beside['details'] = new Map();
const NO_OUTCOMES: Beside['outcomes'] = new Map();
const NO_CHECKPOINTS: Beside['checkpoints'] = new Map();
const NO_ORIGIN = {};
const NO_ORIGINS: Origins = () => NO_ORIGIN;

export async function besideRows(read: BesideReads, news: readonly Seen[]): Promise<Beside> {
  const whole: Job[] = [];
  const starting: Job[] = [];
  const brief: number[] = [];
  const left: number[] = [];
  for (const { jobNo, isNew, job } of news) {
    if (job === null) brief.push(jobNo);
    else whole.push(job);
    if (job !== null && isNew) starting.push(job);
    if (job !== null && job.checkpointAt !== null) left.push(jobNo);
  }
  return {
    details: whole.length === 0 ? NO_DETAILS : await read.details.of(whole),
    outcomes: brief.length === 0 ? NO_OUTCOMES : await read.details.outcomes(brief),
    checkpoints: left.length === 0 ? NO_CHECKPOINTS : await read.checkpoints.byNo(left),
    origins: starting.length === 0 ? NO_ORIGINS : await originsOf(read, starting),
  };
}

async function originsOf(read: BesideReads, starting: readonly Job[]): Promise<Origins> {
  const nosOf = (jobs: readonly Job[]): number[] => jobs.map(({ no }) => no);
  const after = Map.groupBy(await read.dependencies.of(nosOf(starting)), (row) => row.jobNo);
  const runs = new Map<number, RunOrigin>();
  const ofSchedules = nosOf(starting.filter((job) => job.scheduleId !== null));
  if (ofSchedules.length > 0)
    for (const { jobNo, scheduleId, kind, dueAt, triggeredBy } of await read.runs.byNo(ofSchedules))
      runs.set(jobNo, { scheduleId, kind, dueAt, triggeredBy });
  const approvals = new Map<number, ApprovalFacts>();
  const needApproval = nosOf(starting.filter((job) => job.approval !== 'none'));
  if (needApproval.length > 0)
    for (const { jobNo, timeoutMs, auto, hash } of await read.approvals.byNo(needApproval))
      approvals.set(jobNo, { timeoutMs, auto, hash });
  return (no) => {
    const parents = after.get(no)?.map(({ parentNo, on }) => ({ parentNo, on }));
    const run = runs.get(no);
    const approval = approvals.get(no);
    return { ...(parents && { after: parents }), ...(run && { run }), ...(approval && { approval }) };
  };
}
