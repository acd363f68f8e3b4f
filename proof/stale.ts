import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { HttpClient, JobBody } from '../test/support/http.ts';
import { startServer, type TestServer } from '../test/support/server.ts';
import { type ProofReport, report } from './report.ts';
import { checkHolder } from './stale/holder.ts';
import { type LateWrite, type Lease, type StaleMessage, type StaleWord, VERBS } from './stale/worker.ts';
import type { ProofStore } from './stores.ts';

const LEASE_MS = 400;
const HOLDER_LEASE_MS = 60_000;
const MOVED_WITHIN_MS = 10_000;
const WORKER = fileURLToPath(new URL('./stale/worker.ts', import.meta.url));

/** What became of a frozen worker's jobs by the time it woke. The twin uses the very same claw token. */
const FATES = ['queued again', 'held by its twin', 'held by the other claw', 'done by its twin'] as const;
type Fate = (typeof FATES)[number];

export interface StaleOptions {
  readonly workers: number;
  readonly jobsEach: number;
  readonly rounds: number;
}

/** Freezes workers beyond their lease while others take their jobs: whatever they write afterwards is refused. */
export async function proveStale(store: ProofStore, options: StaleOptions): Promise<ProofReport> {
  const startedMs = performance.now();
  await using server = await startServer({ ...store.server, leaseMs: LEASE_MS, reaperIntervalMs: 50 });
  const workers = Array.from({ length: options.workers }, () =>
    fork(WORKER, [server.url, server.tokens.left], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] }),
  );
  const writes: LateWrite[] = [];
  const violations: string[] = [];
  try {
    for (let round = 0; round < options.rounds; round++) {
      const fate = FATES[round % FATES.length] ?? 'queued again';
      const outcome = await freezeAll(server, workers, options.jobsEach, fate);
      writes.push(...outcome.writes);
      violations.push(...outcome.violations);
    }
  } finally {
    await Promise.all(workers.map(endWorker));
  }
  const wrong = writes.filter((write) => write.status !== 409 || write.error !== 'lease_lost');
  violations.push(
    ...wrong.map(
      (write) => `late ${write.verb} of ${write.id} answered ${write.status} ${String(write.error)}`,
    ),
  );
  const expected = options.workers * options.jobsEach * options.rounds * VERBS.length;
  if (writes.length !== expected)
    violations.push(`only ${writes.length} of ${expected} late writes were made`);
  return report({
    proof: 'stale',
    store: store.kind,
    summary: `${writes.length} late writes by frozen workers, ${writes.length - wrong.length} refused with lease_lost`,
    counts: {
      writes: writes.length,
      refused: writes.length - wrong.length,
      pauses: options.rounds * options.workers,
    },
    violations,
    startedMs,
  });
}

/** One round: every worker claims, is frozen, loses its jobs to the given fate, and wakes. */
async function freezeAll(
  server: TestServer,
  workers: readonly ChildProcess[],
  jobsEach: number,
  fate: Fate,
): Promise<{ writes: LateWrite[]; violations: string[] }> {
  const jobs = Array.from({ length: workers.length * jobsEach }, () => ({ target: 'any', maxAttempts: 5 }));
  await server.head.post('/jobs/batch', { jobs });
  const lost: Lease[] = [];
  for (const worker of workers) {
    const claimed = next(worker, 'claimed');
    say(worker, { max: jobsEach, leaseMs: LEASE_MS });
    lost.push(...(await claimed));
    worker.kill('SIGSTOP');
  }
  const ids = lost.map((lease) => lease.id);
  await untilQueued(server, ids);
  const held = await decide(server, fate, ids);
  const answers = workers.map((worker) => next(worker, 'writes'));
  for (const worker of workers) {
    say(worker, 'write');
    worker.kill('SIGCONT');
  }
  const writes = (await Promise.all(answers)).flat();
  const violations = await checkHolder(server, fate === 'held by the other claw' ? 'right' : 'left', held);
  await finishRest(server.left);
  return { writes, violations };
}

async function untilQueued(server: TestServer, ids: readonly string[]): Promise<void> {
  const deadlineMs = performance.now() + MOVED_WITHIN_MS;
  for (const id of ids) {
    while ((await server.head.get<JobBody>(`/jobs/${id}`)).body.status === 'running') {
      if (performance.now() > deadlineMs) throw new Error(`job ${id} still runs long after its lease ended`);
      await sleep(20);
    }
  }
}

async function decide(server: TestServer, fate: Fate, ids: readonly string[]): Promise<JobBody[]> {
  if (fate === 'queued again') return [];
  const client = fate === 'held by the other claw' ? server.right : server.left;
  const held = await Promise.all(
    ids.map(
      async (id) => (await client.post<JobBody>(`/jobs/${id}/claim`, { leaseMs: HOLDER_LEASE_MS })).body,
    ),
  );
  if (fate !== 'done by its twin') return held;
  await Promise.all(
    held.map(({ id, leaseToken }) => client.post(`/jobs/${id}/complete`, { leaseToken, result: 'held' })),
  );
  return held;
}

/** Leaves the queue empty, so that the next round's workers claim only their own jobs. */
async function finishRest(client: HttpClient): Promise<void> {
  const answer = await client.post<{ jobs: JobBody[] }>('/jobs/claim', {
    max: 1_000,
    leaseMs: HOLDER_LEASE_MS,
  });
  await Promise.all(
    answer.body.jobs.map(({ id, leaseToken }) => client.post(`/jobs/${id}/complete`, { leaseToken })),
  );
}

function say(worker: ChildProcess, word: StaleWord): void {
  worker.send(word);
}

async function next<K extends 'claimed' | 'writes'>(
  worker: ChildProcess,
  kind: K,
): Promise<K extends 'claimed' ? readonly Lease[] : readonly LateWrite[]>;
async function next(worker: ChildProcess, kind: 'claimed' | 'writes'): Promise<readonly unknown[]> {
  // The channel carries only what stale/worker.ts sends.
  const [message] = (await once(worker, 'message')) as [StaleMessage];
  const found = kind in message ? (message as Record<string, readonly unknown[]>)[kind] : undefined;
  if (found === undefined) throw new Error(`a worker sent ${JSON.stringify(message)} instead of ${kind}`);
  return found;
}

async function endWorker(worker: ChildProcess): Promise<void> {
  if (worker.exitCode !== null || worker.signalCode !== null) return;
  const gone = once(worker, 'exit');
  worker.kill('SIGKILL');
  await gone;
}
