import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import { suite, test } from 'node:test';
import { until } from '../support/clock.ts';
import type { JobBody } from '../support/http.ts';
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

interface Attempts {
  readonly attempts: readonly {
    readonly attempt: number;
    readonly by: string;
    readonly startedAt: string;
    readonly endedAt: string | null;
    readonly queuedMs: number | null;
    readonly runMs: number | null;
    readonly outcome: string;
  }[];
}

const PARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const OTHER = '00-aaaabbbbccccddddeeeeffff00001111-1111222233334444-00';

export function attemptCases(start: Start): void {
  suite('attempts and their times', () => {
    const server = sharedServer(start);

    const attemptsOf = async (id: string): Promise<Attempts['attempts']> =>
      expectStatus(await server().head.get<Attempts>(`/jobs/${id}/attempts`), 200).attempts;

    test('tell who had a job, from when to when, and how each of them ended [WK-39]', async () => {
      const { left, right, head } = server();
      const job = await createJob(head, { target: 'any' });
      deepStrictEqual(await attemptsOf(job.id), []);
      const held = await claimJob(left, job.id);
      expectStatus(await left.post(`/jobs/${job.id}/heartbeat`, { leaseToken: held.leaseToken }), 200);
      expectStatus(await left.post(`/jobs/${job.id}/fail`, { leaseToken: held.leaseToken, error: 'x' }), 200);
      const again = await claimJob(right, job.id);
      const open = await attemptsOf(job.id);
      deepStrictEqual(
        open.map(({ attempt, by, outcome }) => [attempt, by, outcome]),
        [
          [1, 'left-claw', 'failed'],
          [2, 'right-claw', 'running'],
        ],
      );
      strictEqual(open[1]?.endedAt, null);
      strictEqual(open[1]?.startedAt, again['startedAt']);
      expectStatus(await right.post(`/jobs/${job.id}/complete`, { leaseToken: again.leaseToken }), 200);
      const [first, last] = await attemptsOf(job.id);
      strictEqual(last?.outcome, 'done');
      ok(
        first && last && first.startedAt <= (first.endedAt ?? '') && (first.endedAt ?? '') <= last.startedAt,
      );
      const done = await readJob(head, job.id);
      deepStrictEqual([done['startedAt'], done['finishedAt']], [last.startedAt, last.endedAt]);
      strictEqual(done['runMs'], Date.parse(last.endedAt ?? '') - Date.parse(last.startedAt));
      deepStrictEqual([open[1]?.queuedMs, open[1]?.runMs], [again['queuedMs'], null]);
      deepStrictEqual([last.queuedMs, last.runMs], [done['queuedMs'], done['runMs']]);
      strictEqual(first.queuedMs, Date.parse(first.startedAt) - Date.parse(String(job['createdAt'])));
      strictEqual(first.runMs, Date.parse(first.endedAt ?? '') - Date.parse(first.startedAt));
      strictEqual(last.queuedMs, Date.parse(last.startedAt) - Date.parse(first.endedAt ?? ''));
      expectRefusal(await head.get('/jobs/none-such/attempts'), 404, 'not_found');
    });

    test('are shown on the job for the attempt that runs or ran to the end, and for none that was given back', async () => {
      const { head, left } = server();
      const waiting = await createJob(head);
      deepStrictEqual(
        [waiting['startedAt'], waiting['queuedMs'], waiting['runMs']],
        [undefined, undefined, undefined],
      );
      const held = await claimJob(left, waiting.id);
      ok(typeof held['startedAt'] === 'string');
      strictEqual(held['queuedMs'], Date.parse(held['startedAt']) - Date.parse(String(waiting['createdAt'])));
      strictEqual(held['runMs'], undefined);
      const given = expectStatus(
        await left.post<JobBody>(`/jobs/${waiting.id}/release`, { leaseToken: held.leaseToken }),
        200,
      );
      deepStrictEqual([given['startedAt'], given['queuedMs']], [undefined, undefined]);
    });
  });

  suite('traces', () => {
    const server = sharedServer(start);

    test('a traceparent, of the header or the body, stays with the job, its claim, its events and its children [WK-39]', async () => {
      const { head, left } = server();
      const headers = { traceparent: PARENT };
      const byHeader = expectStatus(await head.post<JobBody>('/jobs', {}, { headers }), 201);
      strictEqual(byHeader['traceparent'], PARENT);
      const both = expectStatus(await head.post<JobBody>('/jobs', { traceparent: OTHER }, { headers }), 201);
      strictEqual(both['traceparent'], OTHER);
      const batch = { jobs: [{}, { traceparent: OTHER }] };
      const { jobs } = expectStatus(
        await head.post<{ jobs: JobBody[] }>('/jobs/batch', batch, { headers }),
        201,
      );
      deepStrictEqual(
        jobs.map(({ traceparent }) => traceparent),
        [PARENT, OTHER],
      );
      const held = await claimJob(left, byHeader.id);
      strictEqual(held['traceparent'], PARENT);
      const child = expectStatus(await left.post<JobBody>('/jobs', { parentId: byHeader.id }), 201);
      strictEqual(child['traceparent'], PARENT);
      const own = { parentId: byHeader.id, traceparent: OTHER };
      strictEqual(expectStatus(await left.post<JobBody>('/jobs', own), 201)['traceparent'], OTHER);
      const { events } = expectStatus(
        await head.get<{ events: Record<string, unknown>[] }>(`/jobs/${byHeader.id}/events`),
        200,
      );
      deepStrictEqual(new Set(events.map(({ traceparent }) => traceparent)), new Set([PARENT]));
      strictEqual((await createJob(head))['traceparent'], undefined);
    });

    test('one that cannot be read is refused in the body, and counts as none in the header', async () => {
      const { head } = server();
      const bad = [
        '',
        'x',
        PARENT.toUpperCase(),
        `${PARENT}-x`,
        `ff${PARENT.slice(2)}`,
        OTHER.replace(/[^-]/g, '0'),
        7,
        null,
      ];
      for (const traceparent of bad)
        expectRefusal(await head.post('/jobs', { traceparent }), 400, 'bad_request', {
          field: 'traceparent',
        });
      for (const traceparent of bad.filter((each) => typeof each === 'string')) {
        const answer = await head.post<JobBody>('/jobs', {}, { headers: { traceparent } });
        strictEqual(expectStatus(answer, 201)['traceparent'], undefined, traceparent);
      }
      const later = await head.post<JobBody>(
        '/jobs',
        {},
        { headers: { traceparent: `cc${PARENT.slice(2)}-more` } },
      );
      strictEqual(expectStatus(later, 201)['traceparent'], PARENT);
    });

    test('goes on with the retries of a lineage', async () => {
      const { head, left } = server();
      const retry = { mode: 'lineage', max: 1, backoffMs: 0 };
      const job = await runningJob(server(), left, { retry, traceparent: PARENT, tags: ['lineage-trace'] });
      expectStatus(await left.post(`/jobs/${job.id}/fail`, { leaseToken: job.leaseToken }), 200);
      const next = await until('the retry is there', async () => {
        const { jobs } = expectStatus(
          await head.get<{ jobs: JobBody[] }>('/jobs?tag=lineage-trace&limit=10'),
          200,
        );
        return jobs.find(({ retryOf }) => retryOf === job.id);
      });
      strictEqual(next['traceparent'], PARENT);
    });
  });
}
