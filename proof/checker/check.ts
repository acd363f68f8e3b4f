import { checkEvents } from './events.ts';
import { checkLeases } from './leases.ts';
import type { Call, FinalJob } from './history.ts';
import { checkWrites } from './writes.ts';

export type Rule =
  | 'lost'
  | 'duplicated'
  | 'unexpected'
  | 'over_attempts'
  | 'shared_lease'
  | 'stale_accept'
  | 'revived'
  | 'replay_refused'
  | 'lost_outcome'
  | 'lost_write'
  | 'event_gap'
  | 'event_mismatch'
  | 'not_final';

export interface Violation {
  readonly rule: Rule;
  readonly subject: string;
  readonly detail: string;
}

const FINAL_STATES: ReadonlySet<string> = new Set(['done', 'failed', 'dead', 'cancelled', 'skipped']);

export function isFinal(job: FinalJob): boolean {
  return FINAL_STATES.has(job.state);
}

/** Everything that the calls' callers and the final store cannot both be right about. */
export function check(calls: readonly Call[], finals: readonly FinalJob[]): Violation[] {
  const byId = new Map(finals.map((job) => [job.id, job]));
  const perJob = Map.groupBy(
    calls.filter((call) => call.jobId !== undefined && call.op !== 'enqueue'),
    (call) => call.jobId ?? '',
  );
  return [
    ...checkAcknowledged(calls, byId),
    ...checkOrigins(calls, finals),
    ...[...perJob].flatMap(([id, own]) => checkLeases(own, byId.get(id))),
    ...finals.flatMap((job) => {
      const own = perJob.get(job.id) ?? [];
      return [...checkAttempts(job, own), ...checkWrites(own, job), ...checkEvents(job)];
    }),
    ...checkLiveness(finals),
  ];
}

/** I1 and I3: what was acknowledged exists, under one id per key. */
function checkAcknowledged(calls: readonly Call[], byId: ReadonlyMap<string, FinalJob>): Violation[] {
  const violations: Violation[] = [];
  const idOfKey = new Map<string, string>();
  for (const call of calls) {
    if (call.op !== 'enqueue' || call.outcome !== 'ok') continue;
    const { key = '', jobId = '' } = call;
    const earlier = idOfKey.get(key);
    if (earlier !== undefined && earlier !== jobId) {
      violations.push({
        rule: 'duplicated',
        subject: key,
        detail: `acknowledged as ${earlier} and as ${jobId}`,
      });
    }
    idOfKey.set(key, jobId);
    if (!byId.has(jobId)) {
      violations.push({
        rule: 'lost',
        subject: jobId,
        detail: `acknowledged to ${call.by} (${key}), not in the store`,
      });
    }
  }
  return violations;
}

/** I2 and I3 from the store's side: every job was asked for, and only once. */
function checkOrigins(calls: readonly Call[], finals: readonly FinalJob[]): Violation[] {
  const asked = new Set(calls.filter((call) => call.op === 'enqueue').map((call) => call.key));
  const violations: Violation[] = [];
  const idOfKey = new Map<string, string>();
  for (const job of finals) {
    const earlier = idOfKey.get(job.key);
    if (earlier !== undefined) {
      violations.push({
        rule: 'duplicated',
        subject: job.key,
        detail: `stored as ${earlier} and as ${job.id}`,
      });
    }
    idOfKey.set(job.key, job.id);
    if (!asked.has(job.key)) {
      violations.push({ rule: 'unexpected', subject: job.id, detail: `nobody asked for ${job.key}` });
    }
  }
  return violations;
}

/** I9: a job runs at most maxAttempts times, by its own count and by what workers were given. */
function checkAttempts(job: FinalJob, own: readonly Call[]): Violation[] {
  const claims = own.filter((call) => call.op === 'claim' && call.outcome === 'ok');
  const leases = new Set(claims.map((call) => call.token)).size;
  const runs = Math.max(leases, job.attempts, ...claims.map((call) => call.attempt ?? 0));
  if (runs <= job.maxAttempts) return [];
  return [{ rule: 'over_attempts', subject: job.id, detail: `ran ${runs} times of ${job.maxAttempts}` }];
}

/** I44: once faults stop, nothing stays unfinished. */
function checkLiveness(finals: readonly FinalJob[]): Violation[] {
  return finals
    .filter((job) => !isFinal(job))
    .map((job) => ({
      rule: 'not_final',
      subject: job.id,
      detail: `still ${job.state} after ${job.attempts} attempts`,
    }));
}
