import assert from 'node:assert/strict';
import type { Accepted, JobCommand, LeaseOffer, WriteKind } from '../../src/domain/command.ts';
import { decide } from '../../src/domain/decide.ts';
import type { Refusal } from '../../src/domain/error.ts';
import { JOB_FIELDS } from '../../src/domain/job-fields.ts';
import type { Job } from '../../src/domain/job.ts';
import type { Store } from '../../src/store/store.ts';
import { claimed, create, type Each, HEAD, SYSTEM, worker } from '../support/engines.ts';
import { EXTREME, insert, row } from './rows.ts';

const NOW = 5_000;
const HOLDER = worker('w');
const OFFER: LeaseOffer = {
  token: 'new',
  leaseMs: 7_000,
  policy: 'adopt',
  claimId: 'mine',
  capabilities: JSON.parse(EXTREME.requires ?? '[]') as string[],
};

/** Every field that a decision may leave alone has another value than a new job's. */
const FULL = {
  ...EXTREME,
  target: 'any',
  leaseMs: 60_000,
  timeoutMs: 1_000,
  leaseSpanMs: 30_000,
  uniqueKey: null,
  retryOf: null,
  backoffMs: 100,
  attempts: 2,
  maxAttempts: 9,
  fence: 3,
  seq: 5,
  cancelRequested: false,
} satisfies Partial<Job>;

/** No field of a lease is set, but those of the one before are. */
const WAITING: Partial<Job> = {
  ...FULL,
  state: 'queued',
  leaseToken: null,
  leaseUntil: null,
  leaseSpanMs: null,
  claimId: null,
  tokenUsed: false,
  timeoutAt: null,
  blockedOn: null,
  finishedAt: null,
};
const HELD: Partial<Job> = {
  ...FULL,
  state: 'running',
  leaseToken: 'held',
  leaseUntil: 4_000,
  claimedBy: 'w',
};

const STARTS: readonly Partial<Job>[] = [
  {},
  { state: 'running', fence: 1, attempts: 1, leaseToken: 'held', leaseUntil: 4_000, claimedBy: 'w' },
  WAITING,
  { ...WAITING, attempts: 9 },
  { ...WAITING, state: 'scheduled', runAt: 1 },
  { ...WAITING, startBefore: 1 },
  { ...WAITING, state: 'dead', finishedAt: 3, retryAt: null },
  HELD,
  { ...HELD, cancelRequested: true },
  { ...HELD, leasePolicy: 'own', retryMode: 'requeue' },
  { ...HELD, retryMode: 'requeue', attempts: 9, reason: 'an old one', progress: null },
];

const CLAIM: JobCommand = { kind: 'claim', id: '', actor: HOLDER, offer: OFFER };
const PLAIN_OFFER: LeaseOffer = { ...OFFER, leaseMs: null, policy: 'own', claimId: null };

function byHolder(leaseToken: string | null): readonly JobCommand[] {
  const held = { id: '', actor: HOLDER, leaseToken };
  return [
    { kind: 'heartbeat', ...held, progress: '{"at":1}' },
    { kind: 'complete', ...held, result: '1' },
    { kind: 'fail', ...held, error: '"no"', requeue: true, cause: null, spread: null },
    { kind: 'fail', ...held, error: '"no"', requeue: false, cause: 'stale', spread: 0.5 },
    { kind: 'release', ...held, reason: 'tired' },
    { kind: 'snooze', ...held, untilAt: 9_000 },
  ];
}

const BY_OTHERS: readonly JobCommand[] = [
  { kind: 'snooze', id: '', actor: HEAD, leaseToken: null, untilAt: 9_000 },
  { kind: 'comment', id: '', actor: HEAD, text: 'hm' },
  { kind: 'cancel', id: '', actor: HEAD, reason: 'enough' },
  { kind: 'retry', id: '', actor: HEAD },
  { kind: 'redrive', id: '', actor: HEAD },
  { kind: 'expire', id: '', actor: SYSTEM },
  { kind: 'timeout', id: '', actor: SYSTEM },
  { kind: 'admit', id: '', actor: SYSTEM },
  { kind: 'lapse', id: '', actor: SYSTEM },
];

const COMMANDS = [CLAIM, { ...CLAIM, offer: PLAIN_OFFER }, ...byHolder('held'), ...BY_OTHERS];
/** What two callers may ask of a job within one flush; its holder needs no token. */
const TOGETHER = [CLAIM, ...byHolder(null), ...BY_OTHERS.slice(0, 4)];

export function writeTopics(each: Each): void {
  each(
    'writes a change exactly as the plain write would, whatever its decision says that it is',
    async ({ store }) => {
      const seen = new Set<WriteKind>();
      for (const start of STARTS)
        for (const command of COMMANDS) {
          const [marked, plain] = (await insert(store, [row(start), row(start)])) as [Job, Job];
          const kind = await write(store, marked, command);
          if (kind === null) continue;
          seen.add(kind);
          await write(store, plain, command, 'other');
          const [one, other] = await store.read.jobs.byNo([marked.no, plain.no]);
          for (const { name } of JOB_FIELDS)
            if (name !== 'no' && name !== 'id')
              assert.equal(one?.[name], other?.[name], `${command.kind} of a ${marked.state} job: ${name}`);
        }
      assert.deepEqual(seen, new Set<WriteKind>(['claim', 'end', 'other']));
    },
  );

  each(
    'leaves the row as it was last answered, when one flush has several commands for a job',
    async (spine) => {
      const { flusher } = spine.engine.core;
      for (const first of TOGETHER)
        for (const second of TOGETHER) {
          const made = await create(spine);
          const start = first === CLAIM ? made : await claimed(spine, made, HOLDER);
          const commands = [first, second].map((command) => ({ ...command, id: start.id }));
          const answers = (await flusher.submitTogether(commands)) as (Accepted | Refusal)[];
          const last = answers.findLast((answer) => answer.ok);
          assert.deepEqual(await spine.store.read.jobs.byNo([start.no]), [last?.ok ? last.job : start]);
        }
    },
  );
}

/** Writes what the command decides; answers what kind of change its decision calls it, null when it changes nothing. */
async function write(
  store: Store,
  before: Job,
  command: JobCommand,
  as?: WriteKind,
): Promise<WriteKind | null> {
  const { job, kind = 'other' } = decide(before, command, NOW);
  if (job === before) return null;
  const after: Job = { ...job, seq: before.seq + 1 };
  await store.transaction(0, async (tx) => tx.jobs.update([{ before, after, kind: as ?? kind }]));
  return kind;
}
