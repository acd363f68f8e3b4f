import type { JobEvent } from '../../src/domain/event.ts';
import { type Job, type JobInput } from '../../src/domain/job.ts';
import { newJob } from '../../src/domain/new-job.ts';
import type { NewRow, Store, Tx } from '../../src/store/store.ts';

const EMPTY_INPUT: JobInput = {
  title: null,
  description: null,
  spec: null,
  meta: null,
  params: null,
  tags: [],
  budget: null,
};

let made = 0;

/** A queued row as creation makes it, for tests below the engine. */
export function row(change: Partial<Omit<Job, 'no'>> = {}, input: Partial<JobInput> = {}): NewRow {
  made += 1;
  return {
    job: newJob({
      id: `row-${process.pid}-${made}`,
      target: 'any',
      createdAt: 1_000,
      createdBy: 'test',
      leaseMs: 60_000,
      state: 'queued',
      updatedAt: 1_000,
      runAt: 1_000,
      maxAttempts: 5,
      ...change,
    }),
    input: { ...EMPTY_INPUT, ...input },
  };
}

/** Inserts rows in one transaction and reads them back. */
export async function insert(store: Store, rows: readonly NewRow[]): Promise<Job[]> {
  const nos = await store.transaction(0, async (tx) => tx.jobs.insert(rows));
  return store.read.jobs.byNo(nos);
}

/** Tells of a job as a command does: with a change of its row. */
export async function tell(tx: Tx, job: Job, events: readonly JobEvent[], at: number): Promise<void> {
  await tx.jobs.update([
    { before: job, after: { ...job, seq: events.at(-1)?.seq ?? job.seq }, kind: 'other' },
  ]);
  await tx.feed.add(events, at);
}

/** Every field another value than `row` gives it, at the edge of what it may hold. */
const BIG = Number.MAX_SAFE_INTEGER;
export const EXTREME: Omit<Job, 'no' | 'id'> = {
  typeNo: BIG,
  target: 'über/“ziel”\\ {a,b} "c" \' 👩‍🚀',
  createdAt: BIG - 1,
  createdBy: '',
  leaseMs: BIG,
  timeoutMs: 0,
  retryMode: 'lineage',
  retryMax: BIG,
  backoffMs: BIG,
  retryCount: 7,
  retryOf: BIG - 5,
  rootNo: 41,
  parentNo: 42,
  scheduleId: 'NULL',
  uniqueKey: '{}',
  pool: '"',
  concurrencyKey: '\\',
  state: 'running',
  updatedAt: 0,
  attempts: BIG,
  fence: BIG,
  leaseToken: 'null',
  leaseUntil: BIG,
  leasePolicy: 'adopt',
  claimedBy: 'a\nb\tc\r',
  claimId: ' ',
  tokenUsed: true,
  timeoutAt: 1,
  endedToken: ',',
  endedVerb: 'snooze',
  endedState: 'awaiting_approval',
  settled: 2,
  finishedAt: BIG,
  reason: '',
  progress: '{"a":[1,2,{"b":"\\u0000"}]}',
  seq: BIG,
  priority: -1_000_000,
  runAt: BIG,
  maxAttempts: 1,
  cancelRequested: true,
  blockedOn: 'gpu/ключ',
  waitingFor: 3,
  watched: true,
  retryAt: BIG,
  comments: 9,
  approval: 'needed',
  cause: 'timeout',
  leaseSpanMs: BIG,
  requires: '["gpu","über_x"]',
  question: '?',
  questions: 12,
  checkpointAt: BIG,
  mailed: true,
  review: 'pending',
  dependencies: BIG,
  announce: true,
  startedAt: BIG - 2,
  queuedAt: BIG - 3,
  traceparent: '00-',
  score: 4,
  scoreAt: BIG - 4,
  startBefore: BIG - 5,
};
