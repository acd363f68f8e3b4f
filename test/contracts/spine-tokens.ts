import { deepStrictEqual, match, ok, strictEqual } from 'node:assert';
import { suite, test } from 'node:test';
import { until } from '../support/clock.ts';
import { checked } from '../http/description.ts';
import { type HttpClient, httpClient, type JobBody } from '../support/http.ts';
import {
  createJob,
  expectRefusal,
  expectStatus,
  readJob,
  runningJob,
  sharedServer,
  type Start,
} from './spine-cases.ts';

interface Made {
  readonly token: string;
  readonly id: string;
  readonly name: string;
  readonly targets: readonly string[] | null;
}

export function tokenCases(start: Start): void {
  suite('tokens', () => {
    const server = sharedServer(start);
    const add = async (body: object): Promise<Made> =>
      expectStatus(await server().head.post<Made>('/tokens', body), 201);
    const using = async (token: string, work: (client: HttpClient) => Promise<void>): Promise<void> => {
      const client = checked(httpClient(server().url, { token }));
      try {
        await work(client);
      } finally {
        client.close();
      }
    };
    const runOf = ({ id, leaseToken }: JobBody): string => `run.${id}.${leaseToken}`;

    test('are made, shown once, listed without their secret, and revoked at once', async () => {
      const made = await add({ name: 'builder', role: 'worker', targets: ['builds'] });
      match(made.token, /^spn_[\w-]{40,}$/);
      await using(made.token, async (builder) => {
        const job = await createJob(server().head, { target: 'builds' });
        const { jobs } = expectStatus(await builder.post<{ jobs: JobBody[] }>('/jobs/claim', {}), 200);
        deepStrictEqual(
          jobs.map(({ id, claimedBy }) => [id, claimedBy]),
          [[job.id, 'builder']],
        );
        expectRefusal(await builder.post('/jobs/claim', { target: 'any' }), 403, 'forbidden');
        const list = await server().head.get<{ tokens: Made[] }>('/tokens');
        ok(expectStatus(list, 200).tokens.some(({ id, name }) => id === made.id && name === 'builder'));
        ok(!list.text.includes(made.token) && !/hash/.test(list.text));
        expectRefusal(
          await server().head.post('/tokens', { name: 'builder', role: 'viewer' }),
          409,
          'conflict',
        );
        expectStatus(await server().head.request('DELETE', `/tokens/${made.id}`), 200);
        expectRefusal(await builder.get('/jobs'), 401, 'unauthorized');
        expectRefusal(await server().head.request('DELETE', '/tokens/builder'), 404, 'not_found');
      });
    });

    test('without targets serve everything, and take what is addressed to them or to anybody', async () => {
      const { token } = await add({ name: 'jack', role: 'worker' });
      await using(token, async (jack) => {
        const own = await createJob(server().head, { target: 'jack' });
        const { jobs } = expectStatus(await jack.post<{ jobs: JobBody[] }>('/jobs/claim', { max: 10 }), 200);
        ok(jobs.some(({ id }) => id === own.id));
        const other = await createJob(server().head, { target: 'of-all-trades' });
        const taken = expectStatus(
          await jack.post<{ jobs: JobBody[] }>('/jobs/claim', { target: 'of-all-trades' }),
          200,
        );
        strictEqual(taken.jobs[0]?.id, other.id);
      });
    });

    test("of a viewer read everything but the operator's own, and write nothing", async () => {
      const { token } = await add({ name: 'eyes', role: 'viewer', targets: null });
      const { id } = await createJob(server().head, { target: 'right-claw' });
      await using(token, async (viewer) => {
        for (const path of [
          '/jobs',
          `/jobs/${id}`,
          `/jobs/${id}/events`,
          `/jobs/${id}/logs`,
          '/stats',
          '/types',
        ])
          expectStatus(await viewer.get(path), 200);
        for (const path of ['/tokens', '/audit', '/config'])
          expectRefusal(await viewer.get(path), 403, 'wrong_role');
        for (const path of ['/jobs', `/jobs/${id}/comment`, `/jobs/${id}/claim`])
          expectRefusal(await viewer.post(path, {}), 401, 'unauthorized');
        for (const path of ['/jobs/claim', '/tokens'])
          expectRefusal(await viewer.post(path, {}), 403, 'wrong_role');
      });
    });

    test('must not take a name that stands for somebody else', async () => {
      for (const [name, role] of [
        ['head', 'worker'],
        ['system', 'head'],
        ['left-claw', 'viewer'],
      ]) {
        expectRefusal(await server().head.post('/tokens', { name, role }), 409, 'conflict');
      }
      for (const body of [
        { name: 'x' },
        { name: 'x', role: 'run' },
        { name: 'a b', role: 'head' },
        { role: 'head' },
      ])
        expectRefusal(await server().head.post('/tokens', body), 400, 'bad_request');
      expectRefusal(
        await server().head.post('/tokens', { name: 'x', role: 'worker', targets: [] }),
        400,
        'bad_request',
        { field: 'targets' },
      );
    });

    test('of a run act on its own job, and die with the attempt', async () => {
      const held = await runningJob(server(), server().left, { budget: { usd: 1 } });
      const other = await createJob(server().head);
      await using(runOf(held), async (run) => {
        for (const path of ['', '/events', '/logs', '/blobs'])
          expectStatus(await run.get(`/jobs/${held.id}${path}`), 200);
        const beat = expectStatus(
          await run.post<JobBody>(`/jobs/${held.id}/heartbeat`, { progress: 1 }),
          200,
        );
        deepStrictEqual([beat['cancelRequested'], beat['messages'], beat['budget']], [false, [], { usd: 1 }]);
        expectStatus(await run.post(`/jobs/${held.id}/logs`, { lines: [{ text: 'hi' }] }), 200);
        expectStatus(await run.post(`/jobs/${held.id}/comment`, { text: 'hi' }), 200);
        const child = expectStatus(await run.post<JobBody>('/jobs', { parentId: held.id }), 201);
        strictEqual(child['parentId'], held.id);

        expectRefusal(await run.post('/jobs', { spec: 'free' }), 401, 'unauthorized');
        expectRefusal(await run.post('/jobs', { parentId: other.id }), 401, 'unauthorized');
        expectRefusal(await run.post(`/jobs/${held.id}/complete`, { next: {} }), 401, 'unauthorized');
        expectRefusal(await run.post(`/jobs/${other.id}/comment`, { text: 'no' }), 403, 'forbidden');
        for (const path of [`/jobs/${other.id}`, `/jobs/${String(other['no'])}`, `/jobs/${other.id}/blobs`])
          expectRefusal(await run.get(path), 403, 'forbidden');
        expectRefusal(await run.get('/jobs'), 401, 'unauthorized');
        for (const path of ['/events', '/stats', '/types', '/tokens'])
          expectRefusal(await run.get(path), 403, 'wrong_role');
        expectRefusal(await run.post('/jobs/claim', {}), 403, 'wrong_role');

        expectStatus(await run.post(`/jobs/${held.id}/complete`, { result: 'by itself' }), 200);
        strictEqual((await readJob(server().head, held.id)).result, 'by itself');
        expectRefusal(await run.get(`/jobs/${held.id}`), 401, 'unauthorized');
        expectRefusal(await run.post(`/jobs/${held.id}/heartbeat`, {}), 401, 'unauthorized');
      });
      for (const token of [
        'run.x.y',
        `run.${held.id}.`,
        `run..${held.leaseToken}`,
        `run.${held.id}.${'a'.repeat(22)}`,
      ])
        await using(token, async (nobody) => expectRefusal(await nobody.get('/jobs'), 401, 'unauthorized'));
    });

    test('of an attempt are nothing in the next attempt of the same job', async () => {
      const first = await runningJob(server(), server().left);
      expectStatus(
        await server().left.post(`/jobs/${first.id}/release`, { leaseToken: first.leaseToken }),
        200,
      );
      const again = await server().left.post<JobBody>(`/jobs/${first.id}/claim`, {});
      const second = expectStatus(again, 200);
      await using(runOf(first), async (old) => {
        expectRefusal(await old.get(`/jobs/${first.id}`), 401, 'unauthorized');
        expectRefusal(await old.post(`/jobs/${first.id}/complete`, {}), 401, 'unauthorized');
        expectRefusal(await old.post('/jobs', { parentId: first.id }), 401, 'unauthorized');
      });
      await using(runOf(second), async (run) => expectStatus(await run.get(`/jobs/${first.id}`), 200));
    });

    test('of a run die with the token of the worker that holds it, for ever', async () => {
      const made = await add({ name: 'leaver', role: 'worker', targets: ['leaving'] });
      const { id } = await createJob(server().head, { target: 'leaving' });
      let held: JobBody | undefined;
      await using(made.token, async (leaver) => {
        const { jobs } = expectStatus(await leaver.post<{ jobs: JobBody[] }>('/jobs/claim', {}), 200);
        [held] = jobs;
      });
      ok(held);
      await using(runOf(held), async (run) => {
        expectStatus(await run.post(`/jobs/${id}/heartbeat`, {}), 200);
        expectStatus(await server().head.request('DELETE', '/tokens/leaver'), 200);
        for (const path of ['', '/events', '/logs'])
          expectRefusal(await run.get(`/jobs/${id}${path}`), 401, 'unauthorized');
        expectRefusal(await run.post(`/jobs/${id}/complete`, {}), 401, 'unauthorized');
        expectRefusal(await run.post('/jobs', { parentId: id }), 401, 'unauthorized');
        // A new token of the old name, wider or narrower, is another worker.
        await add({ name: 'leaver', role: 'worker' });
        expectRefusal(await run.get(`/jobs/${id}`), 401, 'unauthorized');
      });
    });

    test('that are revoked end a wait for work, and get none that comes after', async () => {
      const made = await add({ name: 'waiter', role: 'worker', targets: ['awaited'] });
      await using(made.token, async (waiter) => {
        const sentMs = performance.now();
        const waiting = waiter.post<{ jobs: JobBody[] }>('/jobs/claim', { waitMs: 30_000 });
        await until('it waits', async () => {
          const { waitingClaims } = (await server().head.get<{ waitingClaims: number }>('/stats')).body;
          return waitingClaims > 0;
        });
        expectStatus(await server().head.request('DELETE', '/tokens/waiter'), 200);
        deepStrictEqual(expectStatus(await waiting, 200).jobs, []);
        ok(performance.now() - sentMs < 20_000, 'the wait went on to its end');
        const { id } = await createJob(server().head, { target: 'awaited' });
        strictEqual((await readJob(server().head, id)).status, 'queued');
      });
    });

    test('leave a record of who did what, for head alone', async () => {
      await server().head.request('PUT', '/types/audited', { body: { label: 'A' } });
      await server().head.post('/targets/audited/pause');
      await server().head.post('/targets/audited/resume');
      const { id } = await add({ name: 'recorded', role: 'head' });
      await server().head.request('DELETE', '/tokens/recorded');
      const page = expectStatus(
        await server().head.get<{ entries: Record<string, unknown>[] }>('/audit?limit=5'),
        200,
      );
      deepStrictEqual(
        page.entries.map(({ by, action, subject }) => [by, action, subject]),
        [
          ['head', 'token.revoke', 'recorded'],
          ['head', 'token.add', 'recorded'],
          ['head', 'target.resume', 'audited'],
          ['head', 'target.pause', 'audited'],
          ['head', 'type.save', 'audited'],
        ],
      );
      ok(id);
      const [, second] = page.entries;
      const older = expectStatus(
        await server().head.get<{ entries: unknown[] }>(`/audit?before=${Number(second?.['no'])}&limit=3`),
        200,
      );
      deepStrictEqual(older.entries, page.entries.slice(2));
      expectRefusal(await server().left.get('/audit'), 403, 'wrong_role');
    });

    test('are masked in the settings, which head may read', async () => {
      const { head, tokens } = server();
      const answer = await head.get<{ settings: { name: string; value: string }[] }>('/config');
      const { settings } = expectStatus(answer, 200);
      strictEqual(settings.find(({ name }) => name === 'HEAD_TOKEN')?.value, '********');
      for (const token of [tokens.head, tokens.left, tokens.right]) ok(!answer.text.includes(token));
    });
  });
}
