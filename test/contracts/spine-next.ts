import { deepStrictEqual, match, ok, strictEqual } from 'node:assert';
import { suite, test } from 'node:test';
import { until } from '../support/clock.ts';
import type { Answer, JobBody } from '../support/http.ts';
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

interface EndedAndNext {
  readonly job: JobBody;
  readonly next: readonly JobBody[];
}
interface BatchResults {
  readonly results: readonly (Record<string, unknown> & { id: string; ok: boolean; job?: JobBody })[];
  readonly next?: readonly JobBody[];
}
interface JobList {
  readonly jobs: readonly JobBody[];
  readonly nextCursor?: string | null;
}

export function nextCases(start: Start): void {
  suite('ending a job', () => {
    const server = sharedServer(start);

    test('takes the next ones in the same call', async () => {
      const held = await runningJob(server(), server().left, { type: 'chain' });
      const first = await createJob(server().head, { type: 'chain', spec: 1 });
      const second = await createJob(server().head, { type: 'chain', spec: 2 });
      const { leaseToken } = held;
      const done = expectStatus(
        await server().left.post<EndedAndNext>(`/jobs/${held.id}/complete`, {
          leaseToken,
          result: 'ok',
          next: { types: ['chain'], max: 1, leaseMs: 5_000 },
        }),
        200,
      );
      deepStrictEqual([done.job.status, done.job.result], ['done', 'ok']);
      deepStrictEqual(
        done.next.map(({ id, spec, attempt }) => [id, spec, attempt]),
        [[first.id, 1, 1]],
      );
      match(done.next[0]?.leaseToken ?? '', /^[\w-]{22}$/);
      const failed = expectStatus(
        await server().left.post<EndedAndNext>(`/jobs/${first.id}/fail`, {
          leaseToken: done.next[0]?.leaseToken,
          requeue: false,
          next: { targets: ['left-claw', 'any'], types: ['chain'], max: 10 },
        }),
        200,
      );
      deepStrictEqual([failed.job.status, failed.next.map(({ id }) => id)], ['failed', [second.id]]);
      const last = expectStatus(
        await server().left.post<EndedAndNext>(`/jobs/${second.id}/complete`, { next: { types: ['chain'] } }),
        200,
      );
      deepStrictEqual(last.next, []);
    });

    test('takes nothing when the end is refused, and only what the worker serves', async () => {
      const held = await runningJob(server(), server().left);
      const waiting = await createJob(server().head, { type: 'untouched' });
      const next = { types: ['untouched'] };
      expectRefusal(
        await server().left.post(`/jobs/${held.id}/complete`, { leaseToken: 'x'.repeat(22), next }),
        409,
        'lease_lost',
      );
      expectRefusal(
        await server().left.post(`/jobs/${held.id}/complete`, { next: { targets: ['right-claw'] } }),
        403,
        'forbidden',
      );
      expectRefusal(await server().head.post(`/jobs/${held.id}/complete`, { next }), 401, 'unauthorized');
      expectRefusal(
        await server().left.post(`/jobs/${held.id}/complete`, { next: { waitMs: 5 } }),
        400,
        'bad_request',
        { field: 'next.waitMs' },
      );
      strictEqual((await readJob(server().head, waiting.id)).status, 'queued');
      strictEqual((await readJob(server().head, held.id)).status, 'running');
    });

    test('with a claimId can be repeated when the answer was lost', async () => {
      const held = await runningJob(server(), server().left);
      await createJob(server().head, { type: 'again' });
      const body = { leaseToken: held.leaseToken, next: { types: ['again'], claimId: 'again-1' } };
      const path = `/jobs/${held.id}/complete`;
      const first = expectStatus(await server().left.post<EndedAndNext>(path, body), 200);
      const again = expectStatus(await server().left.post<EndedAndNext>(path, body), 200);
      deepStrictEqual(again.job['outcome'], { verb: 'complete', status: 'done' });
      deepStrictEqual(
        again.next.map(({ id, leaseToken }) => [id, leaseToken]),
        first.next.map(({ id, leaseToken }) => [id, leaseToken]),
      );
      strictEqual(first.next.length, 1);
    });

    test('in a batch judges every item for itself', async () => {
      const [good, lost, foreign, queued] = [
        await runningJob(server(), server().left),
        await runningJob(server(), server().left),
        await runningJob(server(), server().right, { target: 'right-claw' }),
        await createJob(server().head),
      ];
      const answer = await server().left.post<BatchResults>('/jobs/complete-batch', {
        jobs: [
          { id: good.id, leaseToken: good.leaseToken, result: { n: 1 } },
          { id: lost.id, leaseToken: 'y'.repeat(22) },
          { id: foreign.id, leaseToken: foreign.leaseToken },
          { id: queued.id },
          { id: 'nothing' },
          { id: '../etc' },
          { id: good.id, leaseToken: good.leaseToken },
          { id: String(good.no), leaseToken: good.leaseToken },
          { id: String(foreign.no), leaseToken: foreign.leaseToken },
          { id: '999999999' },
        ],
      });
      const { results } = expectStatus(answer, 200);
      deepStrictEqual(
        results.map(({ id, ok, error, job }) => [id, ok, error ?? job?.status]),
        [
          [good.id, true, 'done'],
          [lost.id, false, 'lease_lost'],
          [foreign.id, false, 'forbidden'],
          [queued.id, false, 'not_owner'],
          ['nothing', false, 'not_found'],
          ['../etc', false, 'not_found'],
          [good.id, true, 'done'],
          [String(good.no), true, 'done'],
          [String(foreign.no), false, 'forbidden'],
          ['999999999', false, 'not_found'],
        ],
      );
      deepStrictEqual(results[0]?.job?.result, { n: 1 });
      deepStrictEqual(results[6]?.job?.['outcome'], { verb: 'complete', status: 'done' });
      ok(typeof results[1]?.['message'] === 'string' && typeof results[1]['hint'] === 'string');
      strictEqual((await readJob(server().head, foreign.id)).status, 'running');
      for (const jobs of [[], Array.from({ length: 1_001 }, () => ({ id: 'x' })), [{}]])
        expectRefusal(await server().left.post('/jobs/complete-batch', { jobs }), 400, 'bad_request');
    });

    test('in a batch of a thousand costs one call', async () => {
      const jobs = Array.from({ length: 1_000 }, () => ({ type: 'many' }));
      expectStatus(await server().head.post('/jobs/batch', { jobs }), 201);
      const claimed = expectStatus(
        await server().left.post<JobList>('/jobs/claim', { types: ['many'], max: 1_000 }),
        200,
      );
      const ends = claimed.jobs.map(({ id, leaseToken }) => ({ id, leaseToken }));
      const { results } = expectStatus(
        await server().left.post<BatchResults>('/jobs/complete-batch', { jobs: ends }),
        200,
      );
      strictEqual(results.filter(({ ok }) => ok).length, 1_000);
    });

    test('in a batch takes the next ones in the same call, whatever became of each end', async () => {
      const target = 'left-claw';
      const jobs = Array.from({ length: 5 }, () => ({ target, type: 'batched' }));
      expectStatus(await server().head.post('/jobs/batch', { jobs }), 201);
      const claim = { types: ['batched'], max: 2 };
      const first = expectStatus(await server().left.post<JobList>('/jobs/claim', claim), 200);
      const ends = first.jobs.map(({ id, leaseToken }) => ({ id, leaseToken }));
      const body = { jobs: [...ends, { id: 'nothing' }], next: claim };
      const done = expectStatus(await server().left.post<BatchResults>('/jobs/complete-batch', body), 200);
      deepStrictEqual(
        done.results.map(({ ok }) => ok),
        [true, true, false],
      );
      deepStrictEqual(
        done.next?.map(({ status, attempt }) => [status, attempt]),
        [
          ['running', 1],
          ['running', 1],
        ],
      );
      strictEqual(typeof done.next?.[0]?.leaseToken, 'string');
      expectRefusal(await server().head.post('/jobs/complete-batch', body), 403, 'wrong_role');
    });

    test('says no more than how it ended to whoever prefers that', async () => {
      const headers = { prefer: 'return=minimal' };
      const { id, leaseToken } = await runningJob(server(), server().left);
      const end = (): Promise<Answer<JobBody>> =>
        server().left.post<JobBody>(`/jobs/${id}/complete`, { leaseToken }, { headers });
      const { no } = await readJob(server().head, id);
      const brief = { id, no, status: 'done', state: 'done' };
      deepStrictEqual(expectStatus(await end(), 200), brief);
      const outcome = { verb: 'complete', status: 'done' };
      deepStrictEqual(expectStatus(await end(), 200), { ...brief, outcome });
      const ends = { jobs: [{ id, leaseToken }, { id: 'nothing' }] };
      const answer = await server().left.post<BatchResults>('/jobs/complete-batch', ends, { headers });
      const [result, refused] = expectStatus(answer, 200).results;
      deepStrictEqual(result, { id, ok: true, job: { ...brief, outcome } });
      deepStrictEqual([refused?.ok, refused?.error], [false, 'not_found']);
      const failing = await runningJob(server(), server().left);
      const failed = await server().left.post(
        `/jobs/${failing.id}/fail`,
        { leaseToken: failing.leaseToken, requeue: false, next: { types: ['none'] } },
        { headers },
      );
      deepStrictEqual(expectStatus(failed, 200), {
        job: { id: failing.id, no: failing['no'], status: 'failed', state: 'failed' },
        next: [],
      });
    });
  });

  suite('heartbeats', () => {
    const server = sharedServer(start);

    test('are how a worker hears that it should stop', async () => {
      const { id } = await runningJob(server(), server().left);
      const path = `/jobs/${id}/heartbeat`;
      const before = expectStatus(await server().left.post<JobBody>(path), 200);
      deepStrictEqual([before['cancelRequested'], before['messages']], [false, []]);
      expectStatus(await server().head.post(`/jobs/${id}/cancel`), 200);
      const after = await server().left.post<JobBody>(path);
      deepStrictEqual(
        [expectStatus(after, 200)['cancelRequested'], after.text.split('cancelRequested').length],
        [true, 2],
      );
    });
  });

  suite('finding jobs', () => {
    const server = sharedServer(start);
    const found = async (query: string): Promise<string[]> => {
      const page = expectStatus(await server().head.get<JobList>(`/jobs?${query}`), 200);
      strictEqual(page.nextCursor === undefined, false);
      return page.jobs.map(({ title }) => String(title));
    };

    test('goes by words of title and description', async () => {
      await createJob(server().head, { title: 'Paint the shed', description: 'Green, like the door' });
      await createJob(server().head, { title: 'Repair the fence' });
      deepStrictEqual(await found('q=paint'), ['Paint the shed']);
      deepStrictEqual(await found('q=the+repa'), ['Repair the fence']);
      deepStrictEqual(await found('q=GREEN%20door'), ['Paint the shed']);
      deepStrictEqual(await found('q=nowhere'), []);
      for (const odd of [
        '"',
        "'",
        '*',
        'a" OR "b',
        "x':*|y",
        'near(a b)',
        '\\',
        'a&b|!c',
        '-a',
        '()',
        'ä ß 日本',
      ])
        ok([200, 400].includes((await server().head.get(`/jobs?q=${encodeURIComponent(odd)}`)).status), odd);
      expectRefusal(await server().head.get('/jobs?q=***'), 400, 'bad_request', { field: 'q' });
    });

    test('goes by tag and type, by nobody in particular, and by retries', async () => {
      await createJob(server().head, { title: 'tagged', tags: ['blue'] });
      await createJob(server().head, { title: 'typed', type: 'kind' });
      await createJob(server().head, { title: 'free', target: 'any', tags: ['found'] });
      await createJob(server().head, { title: 'taken', tags: ['found'] });
      deepStrictEqual(await found('tag=blue'), ['tagged']);
      deepStrictEqual(await found('type=kind'), ['typed']);
      deepStrictEqual(await found('unassigned=true&tag=found'), ['free']);
      expectRefusal(await server().head.get('/jobs?unassigned=true&target=x'), 400, 'bad_request', {
        field: 'unassigned',
      });
      const job = await createJob(server().head, {
        title: 'retried',
        tags: ['again'],
        retry: { mode: 'lineage', max: 1 },
      });
      await claimJob(server().left, job.id);
      expectStatus(await server().left.post(`/jobs/${job.id}/fail`, { error: 'x' }), 200);
      await until('the retry was made', async () => (await found('retries=true&tag=again')).length > 0);
      deepStrictEqual(await found('retries=true&tag=again'), ['retried']);
    });
  });

  suite('numbers', () => {
    const server = sharedServer(start, {});

    test('are there for Prometheus', async () => {
      await createJob(server().head, { target: 'measured' });
      await server().left.post('/jobs', {});
      const answer = await server().head.get('/metrics');
      expectStatus(answer, 200);
      match(answer.headers['content-type'] ?? '', /^text\/plain; version=0\.0\.4/);
      for (const line of [
        /^spine_jobs\{target="measured",state="queued"\} 1$/m,
        /^spine_claims_waiting 0$/m,
        /^spine_commands_pending \d+$/m,
        /^spine_event_streams 0$/m,
        /^spine_loop_last_run_timestamp_seconds\{loop="reaper"\} \d+/m,
        /^spine_loop_failing\{loop="reaper"\} 0$/m,
        /^spine_http_requests_total\{method="POST",route="\/jobs",status="201"\} 1$/m,
        /^spine_http_requests_total\{method="POST",route="\/jobs",status="401"\} 1$/m,
        /^process_resident_memory_bytes \d+$/m,
        /^nodejs_eventloop_lag_p99_seconds [\d.e-]+$/m,
      ]) {
        match(answer.text, line);
      }
      for (const line of answer.text.trim().split('\n'))
        match(line, /^(# (HELP|TYPE) \w+ .+|\w+(\{.*\})? [\d.e+-]+)$/);
      expectRefusal(await server().left.get('/metrics'), 403, 'wrong_role');
    });

    test('say how many claims wait', async () => {
      const waiting = server().left.post('/jobs/claim', { target: 'left-claw', waitMs: 25_000 });
      const waitingClaims = async (): Promise<unknown> =>
        expectStatus(await server().head.get('/stats'), 200)['waitingClaims'];
      await until('it waits', async () => (await waitingClaims()) === 1);
      await createJob(server().head);
      expectStatus(await waiting, 200);
      strictEqual(await waitingClaims(), 0);
    });
  });
}
