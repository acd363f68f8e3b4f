import { deepStrictEqual, match, strictEqual } from 'node:assert';
import { suite, test } from 'node:test';
import { eventually } from '../scheduler/support.ts';
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
      const startBefore = new Date(Date.now() + 3_600_000).toISOString();
      const soon = await createJob(server().head, { target: 'nobody', startBefore });
      expectRefusal(await change(soon.id, { runAt: startBefore }), 400, 'bad_request', { field: 'runAt' });
      expectStatus(await change(soon.id, { runAt: Date.parse(startBefore) - 1 }), 200);
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

    test('one call does a thing to all jobs that fit a filter, or counts them', async () => {
      const { head } = server();
      for (let n = 0; n < 3; n++) await createJob(head, { target: 'nobody', tags: ['bulk'] });
      const ask = (body: object) => head.post('/jobs/bulk', body);
      const filter = { tag: 'bulk', state: 'queued' };
      deepStrictEqual(expectStatus(await ask({ action: 'cancel', filter, dryRun: true }), 200), {
        action: 'cancel',
        count: 3,
        dryRun: true,
      });
      const { id, count } = expectStatus(await ask({ action: 'cancel', filter }), 200);
      strictEqual(count, 3);
      await ends(String(id));
      const { body } = await head.get<{ jobs: JobBody[] }>('/jobs?tag=bulk&limit=9');
      deepStrictEqual(
        body.jobs.map(({ state }) => state),
        ['cancelled', 'cancelled', 'cancelled'],
      );
      const stopped = expectStatus(await head.post(`/bulks/${String(id)}/cancel`, {}), 200);
      deepStrictEqual([stopped['state'], stopped['changed'], stopped['refused']], ['done', 3, 0]);
      const { bulks } = expectStatus(await head.get<{ bulks: { id: string }[] }>('/bulks'), 200);
      strictEqual(bulks[0]?.id, id);
      expectRefusal(await head.get('/bulks/nothing'), 404, 'not_found');
      expectRefusal(await server().left.post('/jobs/bulk', { action: 'cancel', filter }), 403, 'wrong_role');
    });

    test('what is no filter is refused by its name, and nothing is done', async () => {
      for (const [body, names] of [
        [{ action: 'cancel', filter: {} }, /filter must name at least one/],
        [{ action: 'cancel' }, /filter/],
        [{ action: 'cancel', filter: { tagged: 'x' } }, /tagged/],
        [{ action: 'cancel', filter: { limit: 5 } }, /limit/],
        [{ action: 'cancel', filter: { state: 'sleeping' } }, /state/],
        [{ action: 'explode', filter: { tag: 'x' } }, /action/],
        [{ action: 'cancel', filter: { target: 'a', queue: 'b' } }, /queue and target must not differ/],
      ] as const) {
        const answer = await server().head.post('/jobs/bulk', body);
        deepStrictEqual([answer.status, names.test(answer.text)], [400, true], answer.text);
      }
    });

    async function ends(id: string): Promise<void> {
      await eventually(`${id} has ended`, 20_000, async () => {
        const { body } = await server().head.get(`/bulks/${id}`);
        return body['state'] === 'running' ? null : true;
      });
    }
  });
}
