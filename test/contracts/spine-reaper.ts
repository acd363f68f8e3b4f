import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JobBody } from '../support/http.ts';
import type { TestServer } from '../support/server.ts';
import { readJob, runningJob, sharedServer, type Start } from './spine-cases.ts';

const LEASE_MS = 1_200;
/** Longer than a busy machine keeps a test from its heartbeats. */
const BEATEN_LEASE_MS = 5_000;
const REAPER_MS = 50;
/** Shorter than the 30 seconds after which a reaper looks that is not told otherwise. */
const PATIENCE_MS = 20_000;

export function reaperCases(start: Start): void {
  suite('expired leases', () => {
    const server = sharedServer(start, { leaseMs: LEASE_MS, reaperIntervalMs: REAPER_MS });

    test('[SP-36] a job whose lease expires goes back to the queue', async () => {
      const claimed = await runningJob(server(), server().left);
      const job = await untilNotRunning(server(), claimed.id);
      deepStrictEqual([job.status, job.claimedBy, job.leaseUntil, job.attempts], ['queued', null, null, 1]);
    });

    test('[SP-36] at the limit it ends as dead', async () => {
      const claimed = await runningJob(server(), server().left, { maxAttempts: 1 });
      strictEqual((await untilNotRunning(server(), claimed.id)).status, 'dead');
    });

    test('[SP-21 SP-36] heartbeats keep a job past its first lease', async () => {
      const claimed = await runningJob(server(), server().left, { leaseMs: BEATEN_LEASE_MS });
      const firstEnd = Date.parse(claimed.leaseUntil ?? '');
      let last = claimed;
      while (Date.parse(String(last['updatedAt'])) < firstEnd + 10 * REAPER_MS) {
        await sleep(BEATEN_LEASE_MS / 20);
        const answer = await server().left.post<JobBody>(`/jobs/${claimed.id}/heartbeat`);
        strictEqual(answer.status, 200, answer.text);
        last = answer.body;
      }
      deepStrictEqual([last.status, last.attempts], ['running', 1]);
    });
  });
}

/** The reaper is another process's loop: there is nothing to wait for but its effect. */
async function untilNotRunning(server: TestServer, id: string): Promise<JobBody> {
  const endsAt = performance.now() + PATIENCE_MS;
  for (;;) {
    const job = await readJob(server.head, id);
    if (job.status !== 'running') return job;
    ok(performance.now() < endsAt, `still running after ${PATIENCE_MS} ms`);
    await sleep(20);
  }
}
