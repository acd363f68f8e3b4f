import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import { suite, test } from 'node:test';
import type { JobBody } from '../support/http.ts';
import type { TestServer } from '../support/server.ts';
import {
  claimJob,
  createJob,
  expectRefusal,
  expectStatus,
  readJob,
  runningJob,
  sharedServer,
  type Start,
} from './spine-cases.ts';

const LEASE_MS = 300_000;
const ENDINGS = ['heartbeat', 'complete', 'fail', 'release'] as const;

export function lifecycleCases(start: Start): void {
  suite('life of a job', () => {
    const server = sharedServer(start);
    const call = async (
      by: keyof Pick<TestServer, 'head' | 'left' | 'right'>,
      id: string,
      verb: string,
      body?: object,
    ) => await server()[by].post<JobBody>(`/jobs/${id}/${verb}`, body);

    test('[SP-18 SP-20 SP-29] a claim runs the job, counts the attempt and starts a lease of 300 seconds', async () => {
      const { id } = await createJob(server().head);
      const job = await claimJob(server().left, id);
      deepStrictEqual([job.status, job.attempts, job.claimedBy], ['running', 1, 'left-claw']);
      const leaseMs = Date.parse(job.leaseUntil ?? '') - Date.parse(String(job['updatedAt']));
      strictEqual(leaseMs, LEASE_MS);
    });

    test('[SP-16 SP-18] a claw claims its own target and any, never the jobs of the other', async () => {
      const { id } = await createJob(server().head, { target: 'left-claw' });
      expectRefusal(await call('right', id, 'claim'), 403, 'forbidden');
      await claimJob(server().left, id);
      const any = await createJob(server().head, { target: 'any' });
      strictEqual((await claimJob(server().right, any.id)).claimedBy, 'right-claw');
    });

    test('[SP-19] of many claims at once exactly one wins, and the others learn who did', async () => {
      const { id } = await createJob(server().head, { target: 'any' });
      const answers = await Promise.all(
        Array.from({ length: 40 }, (_, i) => call(i % 2 ? 'left' : 'right', id, 'claim')),
      );
      const won = answers.filter(({ status }) => status === 200);
      strictEqual(won.length, 1);
      const { claimedBy, leaseUntil } = won[0]?.body ?? {};
      for (const answer of answers.filter(({ status }) => status !== 200)) {
        expectRefusal(answer, 409, 'already_claimed', { claimedBy, leaseUntil });
      }
    });

    test('[SP-18] a job that has ended cannot be claimed, and says how it ended', async () => {
      const { id } = await runningJob(server(), server().left);
      await call('left', id, 'complete');
      expectRefusal(await call('left', id, 'claim'), 409, 'terminal_status', { status: 'done' });
    });

    test('[SP-21] a heartbeat extends the lease and keeps the progress', async () => {
      const claimed = await runningJob(server(), server().left);
      const job = expectStatus(
        await call('left', claimed.id, 'heartbeat', { progress: { done: 3, of: 4 } }),
        200,
      );
      ok(Date.parse(job.leaseUntil ?? '') >= Date.parse(claimed.leaseUntil ?? ''));
      deepStrictEqual(job['progress'], { done: 3, of: 4 });
      strictEqual(Date.parse(job.leaseUntil ?? '') - Date.parse(String(job['updatedAt'])), LEASE_MS);
      const silent = expectStatus(await call('left', claimed.id, 'heartbeat'), 200);
      deepStrictEqual(silent['progress'], { done: 3, of: 4 });
    });

    test('[SP-22 SP-29] complete ends the job with its result, without error or lease', async () => {
      const { id } = await runningJob(server(), server().left);
      const job = expectStatus(
        await call('left', id, 'complete', { result: { url: 'https://example.test' } }),
        200,
      );
      deepStrictEqual(
        [job.status, job.result, job.error, job.leaseUntil],
        ['done', { url: 'https://example.test' }, null, null],
      );
      deepStrictEqual((await readJob(server().head, id)).result, job.result);
    });

    test('[SP-22] a job completed after a failed attempt keeps no error', async () => {
      const { id } = await runningJob(server(), server().left);
      expectStatus(await call('left', id, 'fail', { error: 'first try' }), 200);
      await claimJob(server().left, id);
      const job = expectStatus(await call('left', id, 'complete'), 200);
      deepStrictEqual([job.status, job.result, job.error, job.attempts], ['done', null, null, 2]);
    });

    test('[SP-23 SP-30] fail requeues by default while attempts are left', async () => {
      for (const body of [{ error: 'transient' }, { error: 'transient', requeue: true }]) {
        const { id } = await runningJob(server(), server().left);
        const job = expectStatus(await call('left', id, 'fail', body), 200);
        deepStrictEqual(
          [job.status, job.claimedBy, job.leaseUntil, job.attempts, job.error],
          ['queued', null, null, 1, 'transient'],
        );
        strictEqual((await claimJob(server().left, id)).attempts, 2);
      }
    });

    test('[SP-23 SP-31 SP-29] fail with requeue false ends the job as failed', async () => {
      const { id } = await runningJob(server(), server().left);
      const job = expectStatus(await call('left', id, 'fail', { error: 'no use', requeue: false }), 200);
      deepStrictEqual([job.status, job.error, job.leaseUntil], ['failed', 'no use', null]);
      expectRefusal(await call('left', id, 'claim'), 409, 'terminal_status', { status: 'failed' });
    });

    test('[SP-32 SP-29] fail at the limit ends the job as dead, whatever requeue says', async () => {
      for (const requeue of [true, false]) {
        const { id } = await runningJob(server(), server().left, { maxAttempts: 1 });
        const job = expectStatus(await call('left', id, 'fail', { error: 'fatal', requeue }), 200);
        deepStrictEqual([job.status, job.error], ['dead', 'fatal']);
        expectRefusal(await call('left', id, 'claim'), 409, 'terminal_status', { status: 'dead' });
      }
    });

    test('[SP-24 SP-35] release gives the job back with its reason; attempts stay as they were', async () => {
      const { id } = await runningJob(server(), server().left);
      const job = expectStatus(await call('left', id, 'release', { reason: 'not now' }), 200);
      deepStrictEqual([job.status, job.claimedBy, job.leaseUntil, job.attempts], ['queued', null, null, 1]);
      strictEqual(job['releaseReason'], 'not now');
    });

    test('[SP-33] a claim beyond the limit makes the job dead and says so', async () => {
      const { id } = await runningJob(server(), server().left, { maxAttempts: 1 });
      expectStatus(await call('left', id, 'release'), 200);
      expectRefusal(await call('left', id, 'claim'), 409, 'max_attempts_reached', {
        attempts: 1,
        maxAttempts: 1,
      });
      strictEqual((await readJob(server().head, id)).status, 'dead');
      expectRefusal(await call('left', id, 'claim'), 409, 'terminal_status', { status: 'dead' });
    });

    test('[SP-27] only the claimant may work on a running job', async () => {
      const { id } = await runningJob(server(), server().left, { target: 'any' });
      const { id: foreign } = await runningJob(server(), server().left);
      for (const verb of ENDINGS) {
        expectRefusal(await call('right', id, verb), 403, 'not_owner');
        expectRefusal(await call('right', foreign, verb), 403, 'forbidden');
      }
      strictEqual((await readJob(server().head, id)).claimedBy, 'left-claw');
    });

    test('[SP-27] nobody works on a job that is not running, and its status is named', async () => {
      const { id } = await createJob(server().head);
      const { id: done } = await runningJob(server(), server().left);
      await call('left', done, 'complete');
      for (const verb of ENDINGS) {
        expectRefusal(await call('head', id, verb), 409, 'not_running', { status: 'queued' });
        expectRefusal(await call('head', done, verb), 409, 'not_running', { status: 'done' });
        expectRefusal(await call('left', done, verb), 409, 'not_running', { status: 'done' });
        expectRefusal(await call('left', 'nonexistent123', verb), 404, 'not_found');
      }
    });

    test('[SP-28] head may step in on every one of them', async () => {
      const results: string[] = [];
      for (const verb of ENDINGS) {
        const { id } = await runningJob(server(), server().left);
        const job = expectStatus(
          await call('head', id, verb, verb === 'fail' ? { error: 'by head', requeue: false } : {}),
          200,
        );
        results.push(`${verb}: ${job.status}`);
      }
      deepStrictEqual(results, ['heartbeat: running', 'complete: done', 'fail: failed', 'release: queued']);
    });
  });
}
