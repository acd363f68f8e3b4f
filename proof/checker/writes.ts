import type { Violation } from './check.ts';
import type { Call, FinalEvent, FinalJob } from './history.ts';

/** What an accepted call leaves among the events of its attempt. */
const LEFT_BY: Readonly<Partial<Record<Call['op'], string>>> = {
  heartbeat: 'heartbeat',
  fail: 'failed',
  release: 'released',
};

/** I1 for the calls that leave no result: each that was acknowledged stands among the events of its attempt. */
export function checkWrites(calls: readonly Call[], job: FinalJob): Violation[] {
  const accepted = calls.filter(({ outcome, op }) => outcome === 'ok' && LEFT_BY[op] !== undefined);
  const attempts = attemptsIn(job.events);
  const perAttempt = Map.groupBy(accepted, ({ op, attempt }) => `${op} ${attempt}`);
  return [...perAttempt.values()].flatMap((same) => {
    const { op, attempt = 0, by } = same[0] as Call;
    // A holder that repeats its end is told of the first one again; every heartbeat counts.
    const wanted = op === 'heartbeat' ? same.length : 1;
    const found = attempts[attempt - 1]?.filter(({ kind }) => kind === LEFT_BY[op]).length ?? 0;
    if (found >= wanted) return [];
    const detail = `${wanted} ${op} of attempt ${attempt} acknowledged to ${by}, ${found} in its events`;
    return [{ rule: 'lost_write', subject: job.id, detail }];
  });
}

/** The events between one claim and the next; one that was given back unanswered is no attempt. */
function attemptsIn(events: readonly FinalEvent[]): readonly (readonly FinalEvent[])[] {
  const starts = events.flatMap(({ kind }, index) => (kind === 'claimed' ? [index] : []));
  return starts
    .map((start, index) => events.slice(start, starts[index + 1]))
    .filter((attempt) => !attempt.some(({ kind }) => kind === 'unanswered'));
}
