import type { Violation } from './check.ts';
import type { Call, FinalJob } from './history.ts';

/** I4 to I8 for one job: who held it, and whether anybody wrote without holding it. */
export function checkLeases(calls: readonly Call[], final: FinalJob | undefined): Violation[] {
  const accepted = calls.filter((call) => call.outcome === 'ok');
  const claims = accepted.filter((call) => call.op === 'claim');
  const writes = accepted.filter((call) => call.op !== 'claim');
  return [
    ...sharedLeases(claims),
    ...writes.filter((write) => isStale(write, claims, calls)).map(stale),
    ...writes.filter((write) => isAfterOwnEnd(write, writes)).map(afterEnd),
    ...revivals(claims, writes),
    ...lostOutcomes(calls, final),
    ...refusedReplays(calls),
  ];
}

/** Two leases never share a token or an attempt, except that one holder may be told of its own lease again. */
function sharedLeases(claims: readonly Call[]): Violation[] {
  const violations: Violation[] = [];
  for (const [index, claim] of claims.entries()) {
    const clash = claims
      .slice(0, index)
      .find((other) =>
        other.token === claim.token ? other.by !== claim.by : other.attempt === claim.attempt,
      );
    if (clash === undefined) continue;
    const detail = `attempt ${claim.attempt} was given to ${clash.by} and to ${claim.by}`;
    violations.push({ rule: 'shared_lease', subject: claim.jobId ?? '', detail });
  }
  return violations;
}

/** Accepted although a newer claim was already known; a repetition of the holder's own earlier call is not a write. */
function isStale(write: Call, claims: readonly Call[], calls: readonly Call[]): boolean {
  const newer = claims.find(
    (claim) => (claim.attempt ?? 0) > (write.attempt ?? 0) && claim.endedMs < write.invokedMs,
  );
  if (newer === undefined) return false;
  const earlier = calls.some(
    (call) =>
      call !== write &&
      call.op === write.op &&
      call.token === write.token &&
      call.outcome !== 'refused' &&
      call.invokedMs < newer.endedMs,
  );
  return write.op === 'heartbeat' || !earlier;
}

function stale(write: Call): Violation {
  const detail = `${write.op} of attempt ${write.attempt} by ${write.by} was accepted after a newer claim`;
  return { rule: 'stale_accept', subject: write.jobId ?? '', detail };
}

/** A lease ends with its first accepted complete, fail or release; another kind of write under it must be refused. */
function isAfterOwnEnd(write: Call, writes: readonly Call[]): boolean {
  return writes.some(
    (end) =>
      end.op !== 'heartbeat' &&
      end.op !== write.op &&
      end.token === write.token &&
      end.endedMs < write.invokedMs,
  );
}

function afterEnd(write: Call): Violation {
  const detail = `${write.op} by ${write.by} was accepted after its own lease had ended`;
  return { rule: 'stale_accept', subject: write.jobId ?? '', detail };
}

function endedJob(call: Call): boolean {
  return call.op === 'complete' || (call.op === 'fail' && (call.state === 'dead' || call.state === 'failed'));
}

/** I8: after an acknowledged end the job is never handed out again, and no second lease ends it. */
function revivals(claims: readonly Call[], writes: readonly Call[]): Violation[] {
  const ends = writes.filter(endedJob);
  const claimed = claims
    .filter((claim) => ends.some((end) => end.endedMs < claim.invokedMs && end.token !== claim.token))
    .map((claim) => ({
      subject: claim.jobId ?? '',
      detail: `claimed by ${claim.by} after its acknowledged end`,
    }));
  const holders = new Set(ends.map((end) => end.token));
  const twice =
    holders.size > 1
      ? [{ subject: ends[0]?.jobId ?? '', detail: `${holders.size} leases ended it, each accepted` }]
      : [];
  return [...claimed, ...twice].map((found) => ({ rule: 'revived', ...found }));
}

/** An acknowledged complete stays: the job is done and holds that result. */
function lostOutcomes(calls: readonly Call[], final: FinalJob | undefined): Violation[] {
  const complete = calls.find((call) => call.op === 'complete' && call.outcome === 'ok');
  if (complete === undefined || final === undefined) return [];
  if (final.state === 'done' && final.mark === complete.mark) return [];
  const detail = `completed with ${complete.mark}, but the store holds ${final.state} with ${final.mark}`;
  return [{ rule: 'lost_outcome', subject: final.id, detail }];
}

/** I7: a holder that repeats its own accepted complete hears yes again. */
function refusedReplays(calls: readonly Call[]): Violation[] {
  const completes = calls.filter((call) => call.op === 'complete');
  return completes
    .filter((call) => call.outcome === 'refused')
    .filter((call) =>
      completes.some((ok) => ok.outcome === 'ok' && ok.token === call.token && ok.endedMs < call.invokedMs),
    )
    .map((call) => ({
      rule: 'replay_refused',
      subject: call.jobId ?? '',
      detail: `answered ${call.error} to ${call.by}`,
    }));
}
