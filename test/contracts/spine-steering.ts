import { deepStrictEqual, match, strictEqual } from 'node:assert';
import { suite, test } from 'node:test';
import type { JobBody } from '../support/http.ts';
import {
  createJob,
  expectRefusal,
  expectStatus,
  runningJob,
  sharedServer,
  type Start,
} from './spine-cases.ts';

export function steeringCases(start: Start): void {
  suite('steering', () => {
    const server = sharedServer(start);
    const change = (id: string, body: object) => server().head.request('PATCH', `/jobs/${id}`, { body });

    test('PATCH changes priority, run time, params and tags of a job that nobody holds, by its number too', async () => {
      const job = await createJob(server().head, { params: { n: 1 }, tags: ['a'] });
      const runAt = new Date(Date.now() + 3_600_000).toISOString();
      const body = { priority: 7, runAt, params: { n: 2 }, tags: ['b'] };
      const { no } = expectStatus(await server().head.get<{ no: number }>(`/jobs/${job.id}`), 200);
      const changed = expectStatus(await change(String(no), body), 200);
      const { priority, params, tags, state } = changed;
      deepStrictEqual(
        { priority, runAt: changed['runAt'], params, tags, state },
        { ...body, state: 'scheduled' },
      );
      deepStrictEqual(expectStatus(await server().head.get(`/jobs/${job.id}`), 200)['params'], { n: 2 });
      strictEqual(expectStatus(await change(job.id, { runAt: 0 }), 200)['state'], 'queued');
    });

    test('PATCH of a job that is held or has ended says where it stands, and what can be done', async () => {
      const held = await runningJob(server(), server().left);
      const refused = await change(held.id, { priority: 1 });
      expectRefusal(refused, 409, 'conflict', { state: 'running', claimedBy: 'left-claw' });
      match(String(refused.body['message']), /held.*cancel it/);
      expectStatus(
        await server().left.post(`/jobs/${held.id}/complete`, { leaseToken: held.leaseToken }),
        200,
      );
      expectRefusal(await change(held.id, { priority: 1 }), 409, 'conflict', { state: 'done' });
      strictEqual(expectStatus(await server().head.get(`/jobs/${held.id}`), 200)['priority'], 0);
    });

    test('PATCH names what it cannot take, and is for head alone', async () => {
      const job = await createJob(server().head);
      for (const [body, field] of [
        [{}, /at least one of/],
        [{ spec: 1 }, /spec/],
        [{ priority: 'high' }, /priority/],
        [{ runAt: 'tomorrow' }, /runAt/],
        [{ tags: 'a' }, /tags/],
        [{ tags: Array.from({ length: 33 }, String) }, /tags/],
      ] as const) {
        const answer = await change(job.id, body);
        strictEqual(answer.status, 400);
        match(answer.text, field);
      }
      expectRefusal(
        await server().left.request('PATCH', `/jobs/${job.id}`, { body: { priority: 1 } }),
        403,
        'wrong_role',
      );
      expectRefusal(await change('999999', { priority: 1 }), 404, 'not_found');
      expectRefusal(await change('%00', { priority: 1 }), 404, 'not_found');
    });

    test('DELETE removes a job that has ended, and says why another one has to stay', async () => {
      const held = await runningJob(server(), server().left);
      await createJob(server().head);
      const remove = (id: string, client = server().head) => client.request('DELETE', `/jobs/${id}`);
      expectRefusal(await remove(held.id), 409, 'conflict', { state: 'running' });
      expectStatus(
        await server().left.post(`/jobs/${held.id}/complete`, { leaseToken: held.leaseToken }),
        200,
      );
      expectRefusal(await remove(held.id, server().left), 403, 'wrong_role');
      deepStrictEqual(expectStatus(await remove(held.id), 200), { id: held.id, removed: true });
      expectRefusal(await server().head.get<JobBody>(`/jobs/${held.id}`), 404, 'not_found');
      expectRefusal(await remove(held.id), 404, 'not_found');
    });
  });
}
