import { deepStrictEqual, match, ok, strictEqual } from 'node:assert';
import { suite, test } from 'node:test';
import type { HttpClient, JobBody } from '../support/http.ts';
import {
  claimJob,
  createJob,
  expectRefusal,
  expectStatus,
  readJob,
  sharedServer,
  type Start,
} from './spine-cases.ts';

export function jobCases(start: Start): void {
  suite('jobs', () => {
    const server = sharedServer(start);
    const ids = async (client: HttpClient, query = ''): Promise<string[]> => {
      const { jobs } = expectStatus(await client.get<{ jobs: JobBody[] }>(`/jobs${query}`), 200);
      return jobs.map(({ id }) => id);
    };

    test('[SP-13 SP-29 SP-34] a new job has every field of v0, queued and with the default limit', async () => {
      const { id, createdAt, updatedAt, ...job } = await createJob(server().head, {
        spec: { say: 'hello' },
        meta: { from: 'test' },
      });
      match(id, /^[\w-]{10,}$/);
      match(String(createdAt), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      strictEqual(updatedAt, createdAt);
      const {
        target,
        status,
        createdBy,
        claimedBy,
        leaseUntil,
        attempts,
        maxAttempts,
        spec,
        meta,
        comments,
        result,
        error,
      } = job;
      deepStrictEqual(
        {
          target,
          status,
          createdBy,
          claimedBy,
          leaseUntil,
          attempts,
          maxAttempts,
          spec,
          meta,
          comments,
          result,
          error,
        },
        {
          target: 'left-claw',
          status: 'queued',
          createdBy: 'head',
          claimedBy: null,
          leaseUntil: null,
          attempts: 0,
          maxAttempts: 5,
          spec: { say: 'hello' },
          meta: { from: 'test' },
          comments: [],
          result: null,
          error: null,
        },
      );
      ok(!('leaseToken' in job));
    });

    test('[SP-13] a job may be created from an empty body, and shows the spec and meta of v0', async () => {
      for (const body of [undefined, {}]) {
        const job = expectStatus(await server().head.post<JobBody>('/jobs', body), 201);
        deepStrictEqual([job.spec, job['meta']], ['', {}]);
      }
    });

    test('[SP-14] maxAttempts is set per job, and refused where it makes no sense', async () => {
      strictEqual((await createJob(server().head, { maxAttempts: 10 })).maxAttempts, 10);
      for (const maxAttempts of [-1, 0, 1.5, 1e308, '5', 2 ** 53, null, true, [], {}]) {
        const answer = await server().head.post('/jobs', { maxAttempts });
        expectRefusal(answer, 400, 'bad_request', { field: 'maxAttempts' });
        match(answer.text, /maxAttempts must be a whole number from 1 to 1000/);
      }
    });

    test('a spec comes back as it was sent', async () => {
      const spec = {
        text: 'zwölf 🦀 \u2028 "quoted" \\ back',
        big: 9007199254740991,
        small: -0.5,
        none: null,
        list: [[], {}, ''],
      };
      const { id } = await createJob(server().head, { spec, meta: [1, 'two'] });
      const job = await readJob(server().head, id);
      deepStrictEqual([job.spec, job['meta']], [spec, [1, 'two']]);
    });

    test('a field that nobody knows is named, and nothing is created', async () => {
      const before = await ids(server().head);
      for (const field of [
        'id',
        'state',
        'status',
        'attempts',
        'fence',
        'owner',
        'leaseToken',
        'createdBy',
        'taget',
      ]) {
        expectRefusal(await server().head.post('/jobs', { [field]: 'x' }), 400, 'bad_request', { field });
      }
      deepStrictEqual(await ids(server().head), before);
    });

    test('[SP-15 SP-16] a claw sees its own target and any, head sees all, oldest first', async () => {
      const left = await createJob(server().head, { target: 'left-claw' });
      const right = await createJob(server().head, { target: 'right-claw' });
      const any = await createJob(server().head, { target: 'any' });
      const other = await createJob(server().head, { target: 'night-shift' });
      const mine = (list: string[]) =>
        list.filter((id) => [left.id, right.id, any.id, other.id].includes(id));
      deepStrictEqual(mine(await ids(server().head)), [left.id, right.id, any.id, other.id]);
      deepStrictEqual(mine(await ids(server().left)), [left.id, any.id]);
      deepStrictEqual(mine(await ids(server().right)), [right.id, any.id]);
      deepStrictEqual(mine(await ids(server().head, '?target=right-claw')), [right.id]);
      deepStrictEqual(mine(await ids(server().head, '?queue=night-shift')), [other.id]);
      deepStrictEqual(mine(await ids(server().left, '?target=right-claw')), []);
    });

    test('[SP-15] the list is filtered by status, and refuses what it cannot filter by', async () => {
      const { id } = await createJob(server().head);
      ok((await ids(server().head, '?status=queued')).includes(id));
      ok(!(await ids(server().head, '?status=running')).includes(id));
      await claimJob(server().left, id);
      ok((await ids(server().head, '?status=running&target=left-claw')).includes(id));
      ok(!(await ids(server().head, '?status=queued')).includes(id));
      for (const query of [
        'status=open',
        'status=%27%20or%201=1--',
        'sort=;drop',
        'limit=-1',
        'limit=1e9',
        'limit=1&limit=2',
        'tag=%00',
      ]) {
        const [field = ''] = query.split('=');
        expectRefusal(await server().head.get(`/jobs?${query}`), 400, 'bad_request', { field });
      }
    });

    test('[SP-17] a job is read by head and by the claw it is for; others are refused, unknown ids are not there', async () => {
      const { id, ...rest } = await createJob(server().head, { target: 'right-claw' });
      strictEqual((await readJob(server().head, id)).id, id);
      strictEqual((await readJob(server().right, id)).id, id);
      strictEqual((await readJob(server().head, String(rest['no']))).id, id);
      expectRefusal(await server().left.get(`/jobs/${id}`), 403, 'forbidden');
      for (const unknown of [
        'nonexistent123',
        '999999999',
        '9'.repeat(15),
        '9'.repeat(30),
        '..%2f..%2fetc%2fpasswd',
        '%00',
        '%F0%9F%A6%80',
        'x'.repeat(400),
      ]) {
        expectRefusal(await server().head.get(`/jobs/${unknown}`), 404, 'not_found');
        expectRefusal(await server().left.post(`/jobs/${unknown}/claim`), 404, 'not_found');
        expectRefusal(await server().head.post(`/jobs/${unknown}/comment`, { text: 'x' }), 404, 'not_found');
      }
    });

    test('[SP-25] head and claws comment, in order; a claw not on the jobs of another', async () => {
      const { id } = await createJob(server().head);
      expectStatus(await server().head.post(`/jobs/${id}/comment`, { text: 'first' }), 200);
      const job = expectStatus(
        await server().left.post<JobBody>(`/jobs/${id}/comment`, { text: 'second' }),
        200,
      );
      const comments = job['comments'] as { t: string; by: string; text: string }[];
      deepStrictEqual(
        comments.map(({ by, text }) => [by, text]),
        [
          ['head', 'first'],
          ['left-claw', 'second'],
        ],
      );
      match(comments[0]?.t ?? '', /Z$/);
      expectRefusal(await server().right.post(`/jobs/${id}/comment`, { text: 'x' }), 403, 'forbidden');
      expectRefusal(await server().head.post(`/jobs/${id}/comment`, {}), 400, 'bad_request', {
        field: 'text',
      });
    });

    test('a job tells its history', async () => {
      const { id } = await createJob(server().head);
      await claimJob(server().left, id);
      await server().left.post(`/jobs/${id}/complete`, { result: 1 });
      const { events } = expectStatus(
        await server().head.get<{ events: { seq: number; t: string; type: string; by: string }[] }>(
          `/jobs/${id}/events`,
        ),
        200,
      );
      deepStrictEqual(
        events.map(({ seq, type, by }) => [seq, type, by]),
        [
          [1, 'job.created', 'head'],
          [2, 'job.claimed', 'left-claw'],
          [3, 'job.completed', 'left-claw'],
        ],
      );
      ok(events.every(({ t }) => t.endsWith('Z')));
      expectRefusal(await server().right.get(`/jobs/${id}/events`), 403, 'forbidden');
      expectRefusal(await server().head.get('/jobs/nothing/events'), 404, 'not_found');
    });
  });
}
