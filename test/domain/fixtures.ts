import type { Actor, Claim, JobCommand, LeaseOffer } from '../../src/domain/command.ts';
import { isFinal, type Job, SETTLED, type State } from '../../src/domain/job.ts';
import { newJob } from '../../src/domain/new-job.ts';

export const NOW = 1_700_000_000_000;
export const LEASE_MS = 60_000;
export const TOKEN = 'token-of-the-holder';

export const HEAD: Actor = { name: 'head', role: 'head', targets: null };
export const SYSTEM: Actor = { name: 'system', role: 'system', targets: null };
export const HOLDER: Actor = { name: 'left-claw', role: 'worker', targets: ['left-claw', 'any'] };
export const STRANGER: Actor = { name: 'other', role: 'worker', targets: ['left-claw', 'any'] };
export const OUTSIDER: Actor = { name: 'right-claw', role: 'worker', targets: ['right-claw'] };

/** A job in a state, with the fields that every job in that state has. */
export function jobIn(state: State, change: Partial<Job> = {}): Job {
  const job: Job = { ...FRESH, state };
  if (state === 'running') Object.assign(job, RUNNING);
  if (isFinal(state))
    Object.assign(job, {
      finishedAt: NOW - 1_000,
      settled: SETTLED,
      attempts: 1,
      fence: 1,
      claimedBy: HOLDER.name,
    });
  if (state === 'scheduled') job.runAt = NOW + 5_000;
  if (state === 'blocked') job.waitingFor = 1;
  return { ...job, ...change };
}

const FRESH: Job = {
  no: 1,
  ...newJob({
    id: 'job-1',
    target: 'any',
    createdAt: NOW - 10_000,
    createdBy: 'head',
    leaseMs: LEASE_MS,
    state: 'queued',
    updatedAt: NOW - 10_000,
    runAt: NOW - 10_000,
    maxAttempts: 5,
  }),
};

const RUNNING: Partial<Job> = {
  attempts: 1,
  fence: 1,
  leaseToken: TOKEN,
  leaseUntil: NOW + LEASE_MS,
  claimedBy: HOLDER.name,
};

function offer(change: Partial<LeaseOffer> = {}): LeaseOffer {
  return {
    token: 'token-of-the-offer',
    leaseMs: null,
    policy: 'own',
    claimId: null,
    capabilities: [],
    ...change,
  };
}

export function claimBy(actor: Actor, change: Partial<LeaseOffer> = {}): Claim {
  return { kind: 'claim', id: 'job-1', actor, offer: offer(change) };
}

const BODIES: {
  readonly [K in JobCommand['kind']]: Omit<Extract<JobCommand, { kind: K }>, 'id' | 'actor' | 'leaseToken'>;
} = {
  claim: { kind: 'claim', offer: offer() },
  heartbeat: { kind: 'heartbeat', progress: null },
  complete: { kind: 'complete', result: '{"ok":true}' },
  fail: { kind: 'fail', cause: null, error: '"broken"', requeue: true, spread: null },
  report: { kind: 'report', result: '{"n":1}' },
  release: { kind: 'release', reason: 'lunch' },
  snooze: { kind: 'snooze', untilAt: NOW + 9_000 },
  ask: {
    kind: 'ask',
    question: {
      id: 'question-1',
      text: 'Which one?',
      to: '@ops',
      choices: null,
      schema: null,
      timeoutMs: 60_000,
      fallback: null,
    },
  },
  checkpoint: { kind: 'checkpoint', value: '"half"' },
  log: { kind: 'log', lines: [{ at: NOW, level: 'info', text: 'hello' }] },
  note: { kind: 'note', note: { sessionKey: 'scheduler:a:b' } },
  comment: { kind: 'comment', text: 'well done' },
  cancel: { kind: 'cancel', reason: 'no need' },
  retry: { kind: 'retry' },
  redrive: { kind: 'redrive' },
  edit: { kind: 'edit', metadata: '{"seen":true}', review: null, note: null, onlyIf: null },
  reword: { kind: 'reword', asked: { title: 'Another' } },
  expire: { kind: 'expire' },
  timeout: { kind: 'timeout' },
  admit: { kind: 'admit' },
  lapse: { kind: 'lapse' },
};

export const KINDS = Object.keys(BODIES) as JobCommand['kind'][];
const BY_HOLDER: readonly JobCommand['kind'][] = [
  'heartbeat',
  'complete',
  'fail',
  'report',
  'release',
  'snooze',
  'ask',
  'checkpoint',
  'log',
  'note',
];

/** A plain command of each kind; those of a holder carry the token unless told otherwise. */
export function command(
  kind: JobCommand['kind'],
  actor: Actor,
  leaseToken: string | null = TOKEN,
): JobCommand {
  const held = BY_HOLDER.includes(kind) ? { leaseToken } : {};
  // The table above has a row for every kind, so body and kind belong together.
  return { ...BODIES[kind], ...held, id: 'job-1', actor } as JobCommand;
}
