import { deepStrictEqual, match, ok, strictEqual } from 'node:assert';
import { suite, test } from 'node:test';
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

interface JobList {
  readonly jobs: readonly JobBody[];
  readonly nextCursor?: string | null;
}

export function nativeCases(start: Start): void {
  suite('creating', () => {
    const server = sharedServer(start);

    test('every native field comes back from create, read and claim', async () => {
      const parent = await createJob(server().head);
      const runAt = '2020-01-02T03:04:05.678Z';
      const sent = {
        target: 'any',
        type: 'fields',
        priority: 7,
        title: 'A title',
        description: 'More words',
        params: { depth: 2 },
        timeoutMs: 60_000,
        leaseMs: 5_000,
        maxAttempts: 4,
        uniqueKey: 'only-one',
        tags: ['red', 'ärger'],
        concurrencyKey: 'customer-7',
        pool: 'builds',
        budget: { usd: 3 },
        parentId: parent.id,
      };
      const created = await createJob(server().head, {
        ...sent,
        runAt,
        retry: { mode: 'lineage', max: 2, backoffMs: 100 },
      });
      const shown = (job: JobBody): object =>
        Object.fromEntries(Object.keys(sent).map((key) => [key, job[key]]));
      deepStrictEqual(shown(created), sent);
      deepStrictEqual(created['retry'], { mode: 'lineage', max: 2, backoffMs: 100, count: 0 });
      deepStrictEqual(shown(await readJob(server().head, created.id)), sent);
      const { jobs } = expectStatus(
        await server().right.post<JobList>('/jobs/claim', { types: ['fields'] }),
        200,
      );
      deepStrictEqual(jobs.map(shown), [sent]);
    });

    test('a field that another one would outdo is refused', async () => {
      const { head } = server();
      const told = 'maxAttempts must be retry.max + 1 when the same job runs again; send one of them.';
      const both = { maxAttempts: 5, retry: { max: 2 } };
      expectRefusal(await head.post('/jobs', both), 400, 'bad_request', {
        field: 'maxAttempts',
        message: told,
      });
      expectRefusal(await head.post('/jobs/batch', { jobs: [{}, both] }), 400, 'bad_request', {
        field: 'jobs[1].maxAttempts',
      });
      strictEqual((await createJob(head, { maxAttempts: 3, retry: { max: 2 } })).maxAttempts, 3);
      const lineage = { maxAttempts: 5, retry: { mode: 'lineage', max: 2 } };
      strictEqual((await createJob(head, lineage)).maxAttempts, 5);
    });

    test('queue is another word for target, and times are ISO or milliseconds', async () => {
      strictEqual((await createJob(server().head, { queue: 'night' })).target, 'night');
      expectRefusal(await server().head.post('/jobs', { queue: 'a', target: 'b' }), 400, 'bad_request', {
        field: 'queue',
      });
      const inFuture = Date.UTC(2090, 0, 1);
      for (const runAt of [inFuture, '2090-01-01T00:00:00Z', '2090-01-01T02:00+02:00']) {
        const job = await createJob(server().head, { runAt });
        deepStrictEqual(
          [job['runAt'], job.state, job.status],
          ['2090-01-01T00:00:00.000Z', 'scheduled', 'queued'],
        );
        expectRefusal(await server().left.post(`/jobs/${job.id}/claim`), 409, 'not_ready', {
          state: 'scheduled',
          runAt: job['runAt'],
        });
      }
      for (const runAt of [
        'tomorrow',
        '2090-01-01',
        '2090-01-01T00:00:00',
        '2090-13-01T00:00:00Z',
        -1,
        1.5,
        1e300,
        null,
      ]) {
        expectRefusal(await server().head.post('/jobs', { runAt }), 400, 'bad_request', { field: 'runAt' });
      }
    });

    test('a batch is created whole or not at all', async () => {
      const tag = 'in-batch';
      const { jobs } = expectStatus(
        await server().head.post<JobList>('/jobs/batch', {
          jobs: [
            { tags: [tag], spec: 1 },
            { tags: [tag], spec: 2 },
          ],
        }),
        201,
      );
      deepStrictEqual(
        jobs.map(({ spec, status }) => [spec, status]),
        [
          [1, 'queued'],
          [2, 'queued'],
        ],
      );
      const bad = await server().head.post('/jobs/batch', { jobs: [{ tags: [tag] }, { priority: 'high' }] });
      expectRefusal(bad, 400, 'bad_request', { field: 'jobs[1].priority' });
      expectRefusal(
        await server().head.post('/jobs/batch', { jobs: [{ tags: [tag] }, { after: ['nothing'] }] }),
        400,
        'bad_request',
      );
      const list = expectStatus(await server().head.get<JobList>(`/jobs?tag=${tag}`), 200);
      deepStrictEqual(
        list.jobs.map(({ id }) => id),
        jobs.map(({ id }) => id),
      );
      for (const wrong of [
        { jobs: [] },
        {},
        { jobs: {} },
        { jobs: Array.from({ length: 1_001 }, () => ({})) },
      ]) {
        expectRefusal(await server().head.post('/jobs/batch', wrong), 400, 'bad_request', { field: 'jobs' });
      }
    });

    test('a job that requires capabilities is shown with them, found by them, and given only to who has them', async () => {
      const type = 'capable';
      const { head, right } = server();
      const made = expectStatus(
        await head.post<JobBody>('/jobs', { type, target: 'any', requires: ['ssh', 'gpu', 'ssh'] }),
        201,
      );
      deepStrictEqual(made['requires'], ['gpu', 'ssh']);
      const ids = async (path: string) =>
        expectStatus(await head.get<JobList>(path), 200).jobs.map(({ id }) => id);
      deepStrictEqual(await ids(`/jobs?type=${type}&requires=gpu`), [made.id]);
      deepStrictEqual(await ids(`/jobs?type=${type}&requires=gp`), []);
      const claim = { targets: ['any'], types: [type] };
      deepStrictEqual(expectStatus(await right.post<JobList>('/jobs/claim', claim), 200).jobs, []);
      expectRefusal(
        await right.post(`/jobs/${made.id}/claim`, { capabilities: ['gpu'] }),
        409,
        'missing_capability',
        { missing: ['ssh'] },
      );
      const able = { ...claim, capabilities: ['ssh', 'root', 'gpu'] };
      const { jobs } = expectStatus(await right.post<JobList>('/jobs/claim', able), 200);
      deepStrictEqual(
        jobs.map(({ id, attempts }) => [id, attempts]),
        [[made.id, 1]],
      );
      for (const wrong of [['a b'], [''], 'gpu', Array.from({ length: 17 }, (_, i) => `c${i}`)]) {
        expectRefusal(await head.post('/jobs', { requires: wrong }), 400, 'bad_request');
        expectRefusal(await right.post('/jobs/claim', { capabilities: wrong }), 400, 'bad_request');
      }
    });

    test('an Idempotency-Key makes a repeated create find the first job', async () => {
      const headers = { 'idempotency-key': 'order-66' };
      const body = { spec: 'once' };
      const answers = await Promise.all(
        [1, 2, 3].map(() => server().head.post<JobBody>('/jobs', body, { headers })),
      );
      strictEqual(new Set(answers.map((answer) => expectStatus(answer, 201).id)).size, 1);
      strictEqual(answers.filter((answer) => answer.headers['idempotency-replayed'] === 'true').length, 2);
      expectRefusal(
        await server().head.post('/jobs', { spec: 'other' }, { headers }),
        422,
        'idempotency_conflict',
      );
      expectRefusal(
        await server().head.post('/jobs/batch', { jobs: [body] }, { headers }),
        422,
        'idempotency_conflict',
      );
      expectRefusal(
        await server().head.post('/jobs', body, { headers: { 'idempotency-key': 'x'.repeat(201) } }),
        400,
        'bad_request',
      );
    });

    test('a uniqueKey is taken while its job is unfinished', async () => {
      const body = { type: 'unique', uniqueKey: 'k' };
      const first = await createJob(server().head, body);
      expectRefusal(await server().head.post('/jobs', body), 409, 'unique_key_taken', { jobId: first.id });
      await claimJob(server().left, first.id);
      await server().left.post(`/jobs/${first.id}/complete`);
      const second = await createJob(server().head, body);
      expectRefusal(await server().head.post(`/jobs/${first.id}/retry`), 409, 'unique_key_taken', {
        jobId: second.id,
      });
    });

    test('a dependent waits for its parents', async () => {
      const parent = await createJob(server().head);
      const child = await createJob(server().head, { after: [parent.id], type: 'dependent' });
      strictEqual(child.state, 'blocked');
      expectRefusal(await server().left.post(`/jobs/${child.id}/claim`), 409, 'not_ready', {
        state: 'blocked',
      });
      await claimJob(server().left, parent.id);
      await server().left.post(`/jobs/${parent.id}/complete`);
      const { jobs } = expectStatus(
        await server().left.post<JobList>('/jobs/claim', { waitMs: 25_000, types: ['dependent'] }),
        200,
      );
      deepStrictEqual(
        jobs.map(({ id }) => id),
        [child.id],
      );
    });

    test('a dependent names its parents by their numbers as well', async () => {
      const { head } = server();
      const [one, other] = [
        await createJob(head, { target: 'nobody' }),
        await createJob(head, { target: 'nobody' }),
      ];
      const nos = [String(one['no']), String(other['no'])] as const;
      const drafts = [{ after: nos }, { after: [other.id, { job: nos[0], on: 'failure' }] }];
      const jobs = drafts.map((draft) => ({ ...draft, target: 'nobody' }));
      const made = expectStatus(await head.post<JobList>('/jobs/batch', { jobs }), 201);
      deepStrictEqual(
        made.jobs.map(({ state }) => state),
        ['blocked', 'blocked'],
      );
      for (const { id } of [one, other]) expectStatus(await head.post(`/jobs/${id}/cancel`), 200);
      const ended = await Promise.all(made.jobs.map(({ id }) => head.get<JobBody>(`/jobs/${id}?wait=20s`)));
      const states = ended.map((answer) => expectStatus(answer, 200).state);
      deepStrictEqual(states, ['skipped', 'skipped']);
      for (const after of [['999999999'], [{ job: '999999999' }]])
        expectRefusal(await head.post('/jobs', { after }), 400, 'bad_request', { field: 'after[0]' });
    });

    test('a worker creates children of a job that it holds, and no others', async () => {
      const held = await runningJob(server(), server().left);
      for (const parentId of [held.id, String(held['no'])]) {
        const child = await createJob(server().left, { parentId, target: 'any' });
        deepStrictEqual([child['parentId'], child['createdBy']], [held.id, 'left-claw']);
      }
      const free = await createJob(server().head);
      ok((await server().left.post('/jobs', { parentId: free.id })).status >= 400);
      ok((await server().right.post('/jobs', { parentId: held.id })).status >= 400);
    });
  });

  suite('claiming the next', () => {
    const server = sharedServer(start);

    test('jobs come by priority, then first in first out, with lease token, attempt, SOP and schema', async () => {
      const paramsSchema = { type: 'object', properties: { n: { type: 'integer' } } };
      const type = expectStatus(
        await server().head.request('PUT', '/types/ordered', {
          body: { label: 'Ordered', sop: 'Do it well.', paramsSchema },
        }),
        200,
      );
      deepStrictEqual(
        [type['name'], type['label'], type['paramsSchema']],
        ['ordered', 'Ordered', paramsSchema],
      );
      for (const [spec, priority] of [
        ['a', 0],
        ['b', 5],
        ['c', 0],
        ['d', 5],
      ] as const) {
        await createJob(server().head, { type: 'ordered', spec, priority });
      }
      expectRefusal(
        await server().head.post('/jobs', { type: 'ordered', params: { n: 'x' } }),
        400,
        'bad_request',
        { field: 'params' },
      );
      const { jobs } = expectStatus(
        await server().left.post<JobList>('/jobs/claim', { types: ['ordered'], max: 10 }),
        200,
      );
      deepStrictEqual(
        jobs.map(({ spec }) => spec),
        ['b', 'd', 'a', 'c'],
      );
      for (const job of jobs) {
        match(job.leaseToken ?? '', /^[\w-]{22}$/);
        deepStrictEqual(
          [job.attempt, job['sop'], job['schema'], job['type']],
          [1, 'Do it well.', paramsSchema, 'ordered'],
        );
      }
    });

    test('what is shown of its retries is what will happen, also where the same job runs again', async () => {
      const { head, left } = server();
      const retries = async (draft: object) => {
        const { maxAttempts, retry } = await createJob(head, draft);
        return [maxAttempts, retry] as const;
      };
      const shown = (max: number) => ({ mode: 'requeue', max, backoffMs: 5_000, count: 0 });
      const backoff = { backoffMs: 5_000 };
      deepStrictEqual(await retries({ retry: backoff }), [5, shown(4)]);
      deepStrictEqual(await retries({ retry: { ...backoff, max: 1 } }), [2, shown(1)]);
      expectStatus(
        await head.request('PUT', '/types/only-once', { body: { maxRetries: 0, retry: backoff } }),
        200,
      );
      deepStrictEqual(await retries({ type: 'only-once' }), [1, shown(0)]);
      const unsaid = expectStatus(
        await head.request('PUT', '/types/unsaid', { body: { maxRetries: null } }),
        200,
      );
      strictEqual((unsaid as { maxRetries?: unknown }).maxRetries, null);

      const { id } = await createJob(head, { retry: { ...backoff, backoffMs: 0 }, target: 'left-claw' });
      for (const count of [0, 1]) {
        const { leaseToken } = expectStatus(await left.post<JobBody>(`/jobs/${id}/claim`), 200);
        const running = expectStatus(await head.get<JobBody>(`/jobs/${id}`), 200);
        strictEqual((running['retry'] as { count: number }).count, count);
        expectStatus(await left.post(`/jobs/${id}/fail`, { error: 'no', requeue: true, leaseToken }), 200);
      }
    });

    test('an unknown type is refused with the one that was meant, unless it is said to be new', async () => {
      expectStatus(await server().head.request('PUT', '/types/resize', { body: {} }), 200);
      const refused = await server().head.post('/jobs', { type: 'reszie' });
      expectRefusal(refused, 400, 'bad_request', { field: 'type' });
      match(String((refused.body as { message?: string }).message), /did you mean resize\?/);
      await createJob(server().head, { type: 'reszie', newType: true, target: 'nobody' });
      await createJob(server().head, { type: 'reszie', target: 'nobody' });
    });

    test('there may be nothing to do', async () => {
      deepStrictEqual(expectStatus(await server().left.post('/jobs/claim', { types: ['nothing'] }), 200), {
        jobs: [],
        messages: [],
      });
      deepStrictEqual(
        expectStatus(await server().left.post('/jobs/claim', { types: ['nothing'], waitMs: 30 }), 200),
        { jobs: [], messages: [] },
      );
    });

    test('a waiting claim wakes when work comes', async () => {
      const waiting = server().right.post<JobList>('/jobs/claim', { types: ['waking'], waitMs: 20_000 });
      const { id } = await createJob(server().head, { target: 'right-claw', type: 'waking', newType: true });
      const { jobs } = expectStatus(await waiting, 200);
      deepStrictEqual(
        jobs.map((job) => [job.id, job.status]),
        [[id, 'running']],
      );
    });

    test('a claimer that went away does not keep the work', async () => {
      const target = 'left-claw';
      await server()
        .left.post('/jobs/claim', { target, waitMs: 20_000 }, { timeoutMs: 100 })
        .catch(() => undefined);
      const { id } = await createJob(server().head, { target, type: 'left-behind', newType: true });
      const { jobs } = expectStatus(
        await server().left.post<JobList>('/jobs/claim', { types: ['left-behind'], waitMs: 25_000 }),
        200,
      );
      deepStrictEqual(
        jobs.map((job) => job.id),
        [id],
      );
    });

    test('a claim repeated under its own claimId returns the same jobs', async () => {
      await createJob(server().head, { type: 'named', newType: true });
      const claim = { types: ['named'], claimId: 'claim-1' };
      const first = expectStatus(await server().left.post<JobList>('/jobs/claim', claim), 200);
      const again = expectStatus(await server().left.post<JobList>('/jobs/claim', claim), 200);
      deepStrictEqual(
        again.jobs.map(({ id, leaseToken }) => [id, leaseToken]),
        first.jobs.map(({ id, leaseToken }) => [id, leaseToken]),
      );
      strictEqual(first.jobs.length, 1);
    });

    test('nobody claims for targets that are not theirs', async () => {
      expectRefusal(await server().left.post('/jobs/claim', { target: 'right-claw' }), 403, 'forbidden', {
        target: 'right-claw',
      });
      expectRefusal(await server().left.post('/jobs/claim', { targets: ['any', 'x'] }), 403, 'forbidden', {
        target: 'x',
      });
      expectRefusal(
        await server().left.post('/jobs/claim', { target: 'any', targets: ['any'] }),
        400,
        'bad_request',
        { field: 'target' },
      );
      for (const [field, value] of [
        ['max', 0],
        ['max', 1_001],
        ['waitMs', 60_001],
        ['leaseMs', 1],
        ['targets', []],
        ['types', 'x'],
      ] as const) {
        expectRefusal(await server().left.post('/jobs/claim', { [field]: value }), 400, 'bad_request', {
          field,
        });
      }
    });
  });

  suite('lease tokens', () => {
    const server = sharedServer(start);

    test('only the answer to a claim shows the token', async () => {
      const claimed = await runningJob(server(), server().left);
      ok(claimed.leaseToken);
      const heartbeat = await server().left.post<JobBody>(`/jobs/${claimed.id}/heartbeat`, {
        leaseToken: claimed.leaseToken,
      });
      const { jobs } = expectStatus(await server().head.get<JobList>('/jobs'), 200);
      for (const job of [heartbeat.body, await readJob(server().left, claimed.id), ...jobs])
        ok(!('leaseToken' in job));
    });

    test('the token is taken from the body or the header, and an old one has lost its lease', async () => {
      const first = await runningJob(server(), server().left);
      expectStatus(
        await server().left.post(`/jobs/${first.id}/release`, { leaseToken: first.leaseToken }),
        200,
      );
      const second = await claimJob(server().left, first.id);
      const old = { 'x-lease-token': first.leaseToken ?? '' };
      for (const verb of ['heartbeat', 'complete', 'fail'] as const) {
        const facts = { claimedBy: 'left-claw', leaseUntil: second.leaseUntil, status: 'running' };
        expectRefusal(
          await server().left.post(`/jobs/${first.id}/${verb}`, {}, { headers: old }),
          409,
          'lease_lost',
          facts,
        );
      }
      const headers = { 'x-lease-token': second.leaseToken ?? '' };
      expectStatus(await server().left.post(`/jobs/${first.id}/heartbeat`, {}, { headers }), 200);
      expectRefusal(await server().left.post(`/jobs/${first.id}/complete`, {}), 409, 'lease_token_required');
      strictEqual(
        expectStatus(await server().left.post<JobBody>(`/jobs/${first.id}/complete`, {}, { headers }), 200)
          .status,
        'done',
      );
    });

    test('repeating the call that ended a lease is answered like the first time', async () => {
      const { id, leaseToken } = await runningJob(server(), server().left);
      const body = { leaseToken, result: 42 };
      const first = expectStatus(await server().left.post<JobBody>(`/jobs/${id}/complete`, body), 200);
      const again = expectStatus(await server().left.post<JobBody>(`/jobs/${id}/complete`, body), 200);
      deepStrictEqual(
        [first['outcome'], again['outcome']],
        [undefined, { verb: 'complete', status: 'done' }],
      );
      deepStrictEqual([again.status, again.result], ['done', 42]);
      expectRefusal(await server().left.post(`/jobs/${id}/fail`, { leaseToken }), 409, 'lease_lost');
    });

    test('a holder writes log lines, which can be read', async () => {
      const { id, leaseToken } = await runningJob(server(), server().left);
      const lines = [{ text: 'started' }, { text: 'odd', level: 'warn', at: '2026-01-01T00:00:00Z' }];
      const written = expectStatus(await server().left.post(`/jobs/${id}/logs`, { leaseToken, lines }), 200);
      deepStrictEqual(written, { accepted: 2, cancelRequested: false });
      const { logs } = expectStatus(
        await server().head.get<{ logs: { attempt: number; t: string; level: string; text: string }[] }>(
          `/jobs/${id}/logs`,
        ),
        200,
      );
      deepStrictEqual(
        logs.map(({ attempt, level, text }) => [attempt, level, text]),
        [
          [1, 'info', 'started'],
          [1, 'warn', 'odd'],
        ],
      );
      strictEqual(logs[1]?.t, '2026-01-01T00:00:00.000Z');
      expectRefusal(await server().left.post(`/jobs/${id}/logs`, { lines: [] }), 400, 'bad_request', {
        field: 'lines',
      });
      expectRefusal(await server().right.get(`/jobs/${id}/logs`), 403, 'forbidden');
    });
  });

  suite('operating', () => {
    const server = sharedServer(start);

    test('cancel ends waiting work at once, and asks running work to stop', async () => {
      const waiting = await createJob(server().head);
      const cancelled = expectStatus(
        await server().head.post<JobBody>(`/jobs/${waiting.id}/cancel`, { reason: 'no need' }),
        200,
      );
      deepStrictEqual(
        [cancelled.state, cancelled.status, cancelled['reason']],
        ['cancelled', 'failed', 'no need'],
      );
      const { id } = await runningJob(server(), server().left);
      expectStatus(await server().head.post(`/jobs/${id}/cancel`), 200);
      strictEqual(
        expectStatus(await server().left.post(`/jobs/${id}/heartbeat`), 200)['cancelRequested'],
        true,
      );
    });

    test('retry reopens what ended, redrive gives a dead job all its attempts', async () => {
      const { id } = await runningJob(server(), server().left, { maxAttempts: 1 });
      await server().left.post(`/jobs/${id}/fail`, { error: 'x' });
      const redriven = expectStatus(await server().head.post<JobBody>(`/jobs/${id}/redrive`), 200);
      deepStrictEqual([redriven.status, redriven.attempts], ['queued', 0]);
      await claimJob(server().left, id);
      await server().left.post(`/jobs/${id}/complete`);
      expectRefusal(await server().head.post(`/jobs/${id}/redrive`), 409, 'conflict');
      strictEqual(expectStatus(await server().head.post<JobBody>(`/jobs/${id}/retry`), 200).status, 'queued');
    });

    test('snooze puts a job off', async () => {
      const { id } = await createJob(server().head);
      const job = expectStatus(
        await server().head.post<JobBody>(`/jobs/${id}/snooze`, { untilAt: '2090-01-01T00:00:00Z' }),
        200,
      );
      deepStrictEqual([job.state, job['runAt']], ['scheduled', '2090-01-01T00:00:00.000Z']);
      expectRefusal(await server().head.post(`/jobs/${id}/snooze`, {}), 400, 'bad_request', {
        field: 'untilAt',
      });
    });

    test('a paused target or type is not handed out until it is resumed', async () => {
      for (const [kind, name] of [
        ['targets', 'left-claw'],
        ['types', 'paused'],
      ] as const) {
        const { id } = await createJob(server().head, { type: 'paused', newType: true });
        const paused = expectStatus(await server().head.post(`/${kind}/${name}/pause`), 200);
        deepStrictEqual([paused['name'], paused['paused']], [name, true]);
        const { pauses } = expectStatus(
          await server().left.get<{ pauses: { name: string; by: string }[] }>('/pauses'),
          200,
        );
        deepStrictEqual(
          pauses.map(({ name: of, by }) => [of, by]),
          [[name, 'head']],
        );
        deepStrictEqual(expectStatus(await server().left.post('/jobs/claim', { types: ['paused'] }), 200), {
          jobs: [],
          messages: [],
        });
        expectRefusal(await server().left.post(`/jobs/${id}/claim`), 409, 'paused');
        expectStatus(await server().head.post(`/${kind}/${name}/resume`), 200);
        await claimJob(server().left, id);
      }
    });

    test('a pool lets as many run as it has room for', async () => {
      const pool = expectStatus(
        await server().head.request('PUT', '/pools/gpu', { body: { capacity: 1 } }),
        200,
      );
      deepStrictEqual(pool, { name: 'gpu', capacity: 1, perKey: 1, running: 0, waiting: 0 });
      await createJob(server().head, { pool: 'gpu', type: 'pooled', newType: true });
      await createJob(server().head, { pool: 'gpu', type: 'pooled', newType: true });
      const { jobs } = expectStatus(
        await server().left.post<JobList>('/jobs/claim', { types: ['pooled'], max: 2 }),
        200,
      );
      strictEqual(jobs.length, 1);
      const { pools } = expectStatus(
        await server().left.get<{ pools: { name: string; running: number }[] }>('/pools'),
        200,
      );
      strictEqual(pools.find(({ name }) => name === 'gpu')?.running, 1);
      expectRefusal(await server().head.request('DELETE', '/pools/gpu'), 409, 'conflict');
      expectRefusal(await server().head.request('DELETE', '/pools/none'), 404, 'not_found');
      expectStatus(await server().head.request('PUT', '/pools/spare', { body: { capacity: 2 } }), 200);
      expectStatus(await server().head.request('DELETE', '/pools/spare'), 200);
      expectRefusal(
        await server().head.request('PUT', '/pools/gpu', { body: { capacity: 0 } }),
        400,
        'bad_request',
        { field: 'capacity' },
      );
    });

    test('types are listed and read by name', async () => {
      await server().head.request('PUT', '/types/review', {
        body: { label: 'Review', sop: 'Read, then judge.' },
      });
      const { types } = expectStatus(await server().left.get<{ types: { name: string }[] }>('/types'), 200);
      ok(types.some(({ name }) => name === 'review'));
      strictEqual(expectStatus(await server().right.get('/types/review'), 200)['sop'], 'Read, then judge.');
      expectRefusal(await server().head.get('/types/none'), 404, 'not_found');
      expectRefusal(
        await server().head.request('PUT', '/types/review', { body: { paramsSchema: { type: 'nonsense' } } }),
        400,
        'bad_request',
        { field: 'paramsSchema' },
      );
      expectRefusal(await server().head.request('PUT', '/types/a%2Fb', { body: {} }), 400, 'bad_request', {
        field: 'name',
      });
    });

    test('numbers are counted by state and target, and a claw sees its own', async () => {
      await createJob(server().head, { target: 'counted' });
      const all = expectStatus(
        await server().head.get<{ states: { queued: number }; targets: Record<string, { queued?: number }> }>(
          '/stats',
        ),
        200,
      );
      ok(all.states.queued >= 1);
      strictEqual(all.targets['counted']?.queued, 1);
      const own = expectStatus(await server().left.get<{ targets: object }>('/stats'), 200);
      ok(!('counted' in own.targets));
    });

    test('pages follow each other without gap or repetition, in both orders', async () => {
      const { jobs } = expectStatus(
        await server().head.post<JobList>('/jobs/batch', {
          jobs: Array.from({ length: 7 }, () => ({ target: 'paged' })),
        }),
        201,
      );
      const ids = jobs.map(({ id }) => id);
      for (const [order, expected] of [
        ['oldest', ids],
        ['newest', ids.toReversed()],
      ] as const) {
        const seen: string[] = [];
        let cursor: string | null | undefined;
        do {
          const from = cursor ? `&cursor=${cursor}` : '';
          const page = expectStatus(
            await server().head.get<JobList>(`/jobs?target=paged&limit=3&order=${order}${from}`),
            200,
          );
          seen.push(...page.jobs.map(({ id }) => id));
          cursor = page.nextCursor;
        } while (cursor);
        deepStrictEqual(seen, expected);
      }
    });

    test('the list without pages says when it is not all', async () => {
      const batch = { jobs: Array.from({ length: 1_000 }, () => ({ target: 'crowd' })) };
      expectStatus(await server().head.post('/jobs/batch', batch), 201);
      const exact = expectStatus(
        await server().head.get<JobList & { truncated?: boolean }>('/jobs?target=crowd'),
        200,
      );
      deepStrictEqual([exact.jobs.length, exact.truncated], [1_000, undefined]);
      const last = await createJob(server().head, { target: 'crowd' });
      const more = expectStatus(
        await server().head.get<JobList & { truncated?: boolean }>('/jobs?target=crowd'),
        200,
      );
      deepStrictEqual([more.jobs.length, more.truncated], [1_000, true]);
      ok(!more.jobs.some(({ id }) => id === last.id));
    });
  });
}
