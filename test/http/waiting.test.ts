import { deepStrictEqual, doesNotMatch, match, strictEqual } from 'node:assert';
import { suite, test } from 'node:test';
import { SpineClient } from '../../src/client/index.ts';
import type { JobBody } from '../support/http.ts';
import { until } from '../support/clock.ts';
import { openServer } from './server.ts';

type Awaited = JobBody & { readonly ended?: boolean };

suite('waiting for the end of a job', () => {
  test('GET with wait is answered when the job ends, with its result', async (t) => {
    const { head, left, engine } = await openServer(t);
    const { body: job } = await head.post<JobBody>('/jobs', { target: 'any' });
    const waited = head.get<Awaited>(`/jobs/${job.id}?wait=30s`);
    await until('it waits', () => engine.core.ends.size === 1);
    const { body: held } = await left.post<JobBody & { leaseToken: string }>(`/jobs/${job.id}/claim`);
    await left.post(`/jobs/${job.id}/complete`, { leaseToken: held.leaseToken, result: { sum: 3 } });
    const { status, body } = await waited;
    strictEqual(status, 200);
    deepStrictEqual([body.state, body['result'], body.ended], ['done', { sum: 3 }, true]);
    const short = await head.get<Awaited>(`/jobs/${job.id}?wait=0s`);
    strictEqual(short.body.ended, true);
    strictEqual('ended' in (await head.get<Awaited>(`/jobs/${job.id}`)).body, false);
  });

  test('a wait that ends first answers the job as it is, and one that is none is refused by name', async (t) => {
    const { head } = await openServer(t);
    const { body: job } = await head.post<JobBody>('/jobs', { target: 'any' });
    const late = await head.get<Awaited>(`/jobs/${job.id}?wait=20ms`);
    deepStrictEqual([late.status, late.body.state, late.body.ended], [200, 'queued', false]);
    for (const wait of ['soon', '61s', '1h', '', '-1s', '1s2', '1e3']) {
      const refused = await head.get<{ error: string; field: string; message: string }>(
        `/jobs/${job.id}?wait=${wait}`,
      );
      deepStrictEqual([refused.status, refused.body.field], [400, 'wait'], wait);
      match(refused.body.message, /duration like 30s, at most 60s/);
    }
  });

  test('a caller that hangs up frees its place', async (t) => {
    const { url, tokens, head, engine } = await openServer(t);
    const { body: job } = await head.post<JobBody>('/jobs', { target: 'any' });
    const gone = new AbortController();
    const call = fetch(`${url}/jobs/${job.id}?wait=60s`, {
      headers: { authorization: `Bearer ${tokens.head}` },
      signal: gone.signal,
    });
    await until('it waits', () => engine.core.ends.size === 1);
    gone.abort();
    await call.catch(() => undefined);
    await until('the place is free', () => engine.core.ends.size === 0);
  });

  test('whose token is revoked meanwhile is told so at once, and nothing of the job', async (t) => {
    const { url, head, engine } = await openServer(t);
    const { body: job } = await head.post<JobBody>('/jobs', { target: 'any', spec: 'secret' });
    const { body: made } = await head.post<{ token: string }>('/tokens', { name: 'waiter', role: 'viewer' });
    const waited = fetch(`${url}/jobs/${job.id}?wait=60s`, {
      headers: { authorization: `Bearer ${made.token}` },
    });
    await until('it waits', () => engine.core.ends.size === 1);
    await head.request('DELETE', '/tokens/waiter');
    const { status, headers } = await waited;
    deepStrictEqual([status, headers.get('www-authenticate')], [401, 'Bearer']);
    doesNotMatch(await (await waited).text(), /secret/);
  });

  test('the client runs a job to its end, over several waits, and gives the last of its lineage', async (t) => {
    const { url, tokens, left, engine } = await openServer(t);
    const client = new SpineClient({ baseUrl: url, token: tokens.head });
    t.after(() => client.close());
    const run = client.jobs.run({ target: 'any', spec: 'add up' });
    await until('it waits', () => engine.core.ends.size === 1);
    const { body } = await left.post<{ jobs: (JobBody & { leaseToken: string })[] }>('/jobs/claim', {
      target: 'any',
    });
    const [job] = body.jobs;
    await left.post(`/jobs/${job?.id}/complete`, { leaseToken: job?.leaseToken, result: 'summed' });
    const done = await run;
    deepStrictEqual([done.id, done.state, done.result, done.ended], [job?.id, 'done', 'summed', true]);
    const other = await client.jobs.create({ target: 'any' });
    const early = await client.jobs.wait(other.id, { waitMs: 20 });
    deepStrictEqual([early.state, early.ended], ['queued', false]);
  });
});

suite('the results of dependencies', () => {
  test('a claim, by target or by id, has them by the ids of the jobs before', async (t) => {
    const { head, left } = await openServer(t);
    type Claimed = JobBody & { readonly leaseToken: string; readonly inputs?: Record<string, unknown> };
    const { body: before } = await head.post<JobBody>('/jobs', { target: 'any' });
    const after = { target: 'left-claw', after: [before.id] };
    const { body: held } = await left.post<Claimed>(`/jobs/${before.id}/claim`);
    strictEqual('inputs' in held, false);
    await left.post(`/jobs/${before.id}/complete`, { leaseToken: held.leaseToken, result: [1, { two: 2 }] });
    await head.post<JobBody>('/jobs', after);
    const { body: other } = await head.post<JobBody>('/jobs', after);
    const byTarget = await left.post<{ jobs: Claimed[] }>('/jobs/claim', { target: 'left-claw' });
    const byId = await left.post<Claimed>(`/jobs/${other.id}/claim`);
    for (const claimed of [byTarget.body.jobs[0], byId.body])
      deepStrictEqual(claimed?.inputs, { [before.id]: [1, { two: 2 }] });
  });
});
