import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import { connect } from 'node:net';
import { test } from 'node:test';
import { until } from '../support/clock.ts';
import { httpClient, type JobBody } from '../support/http.ts';
import { readEvents } from '../http/stream.ts';
import type { ContractStore } from './spine.ts';
import { claimJob, createJob } from './spine-cases.ts';

const TIGHT = {
  // Two at once and then one a second: a slow machine lets hardly more through.
  SPINE_RUN_CALLS_PER_SECOND: '1',
  SPINE_RUN_OPEN_CALLS: '4',
  SPINE_WORKER_OPEN_CALLS: '6',
  SPINE_OPEN_STREAMS: '2',
  SPINE_OPEN_BODY_BYTES: '200000',
};
const CONNECTIONS = 30;

export function limitCases(start: ContractStore['start']): void {
  test('bounds what a run, a worker and a reader may do, and lets heartbeats and ends through', async () => {
    await using server = await start({ env: TIGHT });
    const held = await claimJob(server.left, (await createJob(server.head)).id);
    const { leaseToken } = held;
    const run = httpClient(server.url, { token: `run.${held.id}.${leaseToken}`, sockets: CONNECTIONS });
    const many = <T>(call: () => Promise<T>): Promise<T[]> =>
      Promise.all(Array.from({ length: CONNECTIONS }, call));
    try {
      const comments = await many(() => run.post(`/jobs/${held.id}/comment`, { text: 'again' }));
      const refused = comments.filter(({ status }) => status === 429);
      ok(refused.length >= CONNECTIONS - 14, `${refused.length} refused`);
      strictEqual(comments.filter(({ status }) => status === 200).length, CONNECTIONS - refused.length);
      for (const { body, headers } of refused) {
        deepStrictEqual(
          [body['error'], body['retryable'], headers['retry-after']],
          ['rate_limited', true, '1'],
        );
        ok(
          /^SPINE_RUN_(CALLS_PER_SECOND|OPEN_CALLS)$/.test(String(body['setting'])),
          String(body['setting']),
        );
      }
      const beats = await many(() => run.post(`/jobs/${held.id}/heartbeat`, { leaseToken }));
      deepStrictEqual(new Set(beats.map(({ status }) => status)), new Set([200]));

      const left = httpClient(server.url, { token: server.tokens.left, sockets: CONNECTIONS });
      let refusals = 0;
      const waits = many(async () => {
        const answer = await left.post<{ error?: string }>('/jobs/claim', { waitMs: 25_000, target: 'any' });
        if (answer.status === 429) refusals++;
        return answer;
      });
      const ended = await run.post<JobBody>(`/jobs/${held.id}/complete`, { leaseToken });
      strictEqual(ended.status, 200);
      await until('all others are refused', () => refusals === CONNECTIONS - 6);
      await server.head.post('/jobs/batch', { jobs: Array.from({ length: 6 }, () => ({ target: 'any' })) });
      const waited = await waits;
      left.close();
      strictEqual(waited.filter(({ status }) => status === 429).length, CONNECTIONS - 6);
      strictEqual(
        (await server.left.post('/jobs/claim', { target: 'any' })).status,
        200,
        'the waits are over',
      );
    } finally {
      run.close();
    }

    const streams = await Promise.all(
      [1, 2, 3].map(() => readEvents(server.url, { token: server.tokens.right })),
    );
    strictEqual(streams.filter(({ status }) => status === 429).length, 1);
    for (const stream of streams) stream.close();
  });

  test('counts bodies while they come in, and forgets those whose sender went away', async () => {
    await using server = await start({ env: TIGHT });
    const head =
      `POST /jobs HTTP/1.1\r\nhost: 127.0.0.1:${server.port}\r\nauthorization: Bearer ${server.tokens.head}\r\n` +
      'content-type: application/json\r\ncontent-length: 150000\r\n\r\n{';
    const slow = connect(server.port, '127.0.0.1');
    slow.write(head);
    const spec = 'x'.repeat(100_000);
    const create = async (): Promise<number> => (await server.head.post('/jobs', { spec })).status;
    await until('the slow body counts', async () => (await create()) === 429);
    strictEqual((await server.head.post('/jobs', {})).status, 201, 'small ones go through');
    slow.destroy();
    await until('it is forgotten', async () => (await create()) === 201);
  });
}
