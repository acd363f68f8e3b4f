import type { Violation } from './check.ts';
import type { FinalEvent, FinalJob } from './history.ts';

/** The kinds that move a job; others (comments, messages) may stand anywhere. */
const MOVES: ReadonlySet<string> = new Set([
  'created',
  'claimed',
  'heartbeat',
  'completed',
  'failed',
  'released',
  'unanswered',
  'expired',
  'dead',
]);
const HELD: ReadonlySet<string> = new Set(['claimed', 'heartbeat']);

/** What a job's state may be after its last move. */
const FITS: Readonly<Record<string, readonly string[]>> = {
  created: ['queued', 'scheduled', 'blocked', 'awaiting_approval'],
  claimed: ['running'],
  heartbeat: ['running'],
  completed: ['done'],
  failed: ['queued', 'scheduled', 'failed', 'dead'],
  released: ['queued'],
  unanswered: ['queued'],
  expired: ['queued', 'dead'],
  dead: ['dead'],
};

/** I12 for one job: its events are numbered 1..n, follow one another legally and end where the row is. */
export function checkEvents(job: FinalJob): Violation[] {
  return [...gaps(job), ...order(job), ...moves(job), ...ending(job)];
}

function gaps(job: FinalJob): Violation[] {
  const broken = job.events.findIndex((event, index) => event.seq !== index + 1);
  if (broken === -1 && job.events.length > 0) return [];
  const seqs = job.events.map((event) => event.seq).join(' ');
  return [{ rule: 'event_gap', subject: job.id, detail: seqs === '' ? 'has no events' : `numbered ${seqs}` }];
}

function order(job: FinalJob): Violation[] {
  const back = job.events.find((event, index) => event.timeMs < (job.events[index - 1]?.timeMs ?? 0));
  if (back === undefined) return [];
  return [mismatch(job, `event ${back.seq} (${back.kind}) is older than the one before it`)];
}

function moves(job: FinalJob): Violation[] {
  const violations: Violation[] = [];
  let last: string | undefined;
  for (const event of job.events.filter(isMove)) {
    if (!mayFollow(event.kind, last)) {
      violations.push(mismatch(job, `${event.kind} (event ${event.seq}) follows ${last ?? 'nothing'}`));
    }
    last = event.kind;
  }
  return violations;
}

function isMove(event: FinalEvent): boolean {
  return MOVES.has(event.kind);
}

function mayFollow(kind: string, last: string | undefined): boolean {
  if (last === undefined) return kind === 'created';
  if (last === 'completed' || last === 'dead' || kind === 'created') return false;
  if (kind === 'dead') return true;
  return kind === 'claimed' ? !HELD.has(last) : HELD.has(last);
}

function ending(job: FinalJob): Violation[] {
  const count = (wanted: string): number => job.events.filter(({ kind }) => kind === wanted).length;
  // A claim whose answer could not be given is as if it had not been made.
  const claims = count('claimed') - count('unanswered');
  const last = job.events.findLast(isMove)?.kind ?? 'nothing';
  const violations: Violation[] = [];
  if (claims !== job.attempts)
    violations.push(mismatch(job, `${claims} claims in its events, ${job.attempts} attempts in its row`));
  if (!(FITS[last] ?? []).includes(job.state))
    violations.push(mismatch(job, `is ${job.state} after ${last}`));
  return violations;
}

function mismatch(job: FinalJob, detail: string): Violation {
  return { rule: 'event_mismatch', subject: job.id, detail };
}
