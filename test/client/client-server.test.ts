import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert';
import { createHash } from 'node:crypto';
import { after, before, suite, test } from 'node:test';
import { fetchTransport, SpineClient } from '../../src/client/index.ts';
import { startServer, type TestServer } from '../support/server.ts';

suite('the client and a real server', () => {
  let server: TestServer;
  let head: SpineClient;
  let left: SpineClient;
  before(async () => {
    server = await startServer();
    head = new SpineClient({ baseUrl: server.url, token: server.tokens.head });
    left = new SpineClient({ baseUrl: server.url, token: server.tokens.left });
  });
  after(() => server.stop());

  test('a job goes through every call of its holder', async () => {
    const { id } = await head.jobs.create({
      target: 'any',
      type: 'tour',
      runAt: new Date(0),
      tags: ['tour'],
    });
    const [job] = await left.jobs.claimNext({ targets: ['any'], types: ['tour'], waitMs: 25_000 });
    ok(job);
    strictEqual(job.id, id);
    strictEqual((await left.jobs.heartbeat(job, { progress: { percent: 50 } })).status, 'running');
    deepStrictEqual(await left.jobs.log(job, [{ text: 'hello', level: 'warn' }]), {
      accepted: 1,
      cancelRequested: false,
    });
    await left.jobs.comment(id, 'half of it');
    strictEqual((await left.jobs.release(job, { reason: 'lunch' })).releaseReason, 'lunch');
    strictEqual((await left.jobs.release(job, { reason: 'lunch' })).outcome?.verb, 'release');
    const again = await left.jobs.claim(id, { leaseMs: 5_000 });
    strictEqual((await left.jobs.snooze(again, new Date(0))).status, 'queued');
    const third = await left.jobs.claim(id);
    strictEqual((await left.jobs.fail(third, { error: 'no', requeue: false })).status, 'failed');
    strictEqual((await head.jobs.retry(id)).status, 'queued');
    const fourth = await left.jobs.claim(id);
    const done = await left.jobs.complete(fourth, { result: [1, 'ä'] });
    deepStrictEqual([done.status, done.result, done.comments.length], ['done', [1, 'ä'], 1]);
    await rejects(left.jobs.heartbeat(fourth), { code: 'lease_lost', status: 409, retryable: false });
    await rejects(head.jobs.redrive(id), { code: 'conflict' });
    await rejects(head.jobs.change(id, { priority: 1 }), { code: 'conflict' });
    const waiting = await head.jobs.create({ target: 'nobody' });
    strictEqual((await head.jobs.change(waiting.id, { priority: 3, tags: ['later'] })).priority, 3);
    await rejects(head.jobs.get('nothing'), { code: 'not_found', status: 404 });
    const logs: string[] = [];
    for await (const { text, level, attempt } of head.jobs.logs(id)) logs.push(`${attempt} ${level} ${text}`);
    deepStrictEqual(logs, ['1 warn hello']);
    const events: string[] = [];
    for await (const { type } of head.jobs.events(id, { after: 1 })) events.push(type);
    deepStrictEqual([events[0], events.at(-1)], ['job.claimed', 'job.completed']);
    const filter = { target: 'nobody' };
    strictEqual(await head.jobs.bulkCount('cancel', filter), 1);
    const bulk = await head.jobs.bulk('cancel', filter);
    deepStrictEqual([bulk.action, bulk.count], ['cancel', 1]);
    await head.jobs.cancelBulk(bulk.id);
    ok((await head.jobs.bulkStatus(bulk.id)).state !== 'running');
    await head.jobs.remove(id);
    await rejects(head.jobs.get(id), { code: 'not_found' });
  });

  test('a list and a batch', async () => {
    const made = await head.jobs.createBatch(
      Array.from({ length: 5 }, (_, spec) => ({ spec, tags: ['listed'] })),
    );
    const seen: unknown[] = [];
    for await (const { spec } of head.jobs.list({ tag: 'listed', limit: 2, order: 'newest' }))
      seen.push(spec);
    deepStrictEqual(seen, [4, 3, 2, 1, 0]);
    strictEqual((await head.jobs.cancel(made[0]?.id ?? '', { reason: 'no' })).state, 'cancelled');
  });

  test('types, pools, pauses, numbers and health', async () => {
    strictEqual((await head.types.save('poem', { sop: 'Rhyme.' })).sop, 'Rhyme.');
    strictEqual((await left.types.get('poem')).name, 'poem');
    ok((await left.types.list()).some(({ name }) => name === 'poem'));
    deepStrictEqual((await head.pools.save('gpu', { capacity: 2 })).capacity, 2);
    deepStrictEqual(
      (await head.pools.list()).map(({ name }) => name),
      ['gpu'],
    );
    await head.pools.remove('gpu');
    await head.pauses.pause('type', 'poem');
    deepStrictEqual(
      (await head.pauses.list()).map(({ kind, name }) => [kind, name]),
      [['type', 'poem']],
    );
    await head.pauses.resume('type', 'poem');
    strictEqual(typeof (await head.stats()).states.queued, 'number');
    strictEqual((await new SpineClient({ baseUrl: server.url }).health()).ok, true);
  });

  test('a file goes up as a stream and comes down as the same bytes', async () => {
    const chunk = new Uint8Array(100_000).fill(7);
    async function* chunks(): AsyncGenerator<Uint8Array> {
      for (let i = 0; i < 30; i++) yield chunk;
    }
    const stored = await left.blobs.upload(chunks(), { filename: 'a "b" ä.bin', contentType: 'image/png' });
    strictEqual(stored.size, 3_000_000);
    const down = await head.blobs.download(stored.id);
    deepStrictEqual(
      [down.size, down.contentType, down.sha256, down.filename?.includes('ä.bin')],
      [3_000_000, 'image/png', stored.sha256, true],
    );
    const hash = createHash('sha256');
    for await (const part of down.body) hash.update(part);
    strictEqual(hash.digest('hex'), stored.sha256);
    const text = await head.blobs.upload('hello', { filename: 'a.txt' });
    strictEqual(Buffer.from(await (await head.blobs.download(text.id)).bytes()).toString(), 'hello');
  });

  test('the same calls work over fetch, as in a browser', async () => {
    const client = new SpineClient({
      baseUrl: server.url,
      token: server.tokens.head,
      transport: fetchTransport(),
    });
    const { id } = await client.jobs.create({ spec: 'fetched' });
    strictEqual((await client.jobs.get(id)).spec, 'fetched');
    await rejects(client.jobs.get('nothing'), { code: 'not_found' });
    const stored = await client.blobs.upload(new Blob(['in a blob'], { type: 'text/plain' }));
    const down = await client.blobs.download(stored.id);
    strictEqual(Buffer.from(await down.bytes()).toString(), 'in a blob');
    const nobody = new SpineClient({
      baseUrl: 'http://127.0.0.1:1023',
      transport: fetchTransport(),
      retries: 0,
    });
    await rejects(nobody.health(), { name: 'SpineConnectionError', code: 'ECONNREFUSED' });
  });

  test('an end takes the next job along', async () => {
    await head.jobs.createBatch([
      { target: 'any', type: 'fused', newType: true, spec: 1 },
      { target: 'any', type: 'fused', newType: true, spec: 2 },
      { target: 'any', type: 'fused', newType: true, spec: 3 },
    ]);
    const claim = { targets: ['any'], types: ['fused'], max: 1 };
    const [first] = await left.jobs.claimNext(claim);
    ok(first);
    const { job, next } = await left.jobs.complete(first, {
      result: 'a',
      next: { ...claim, claimId: 'fused-1' },
    });
    deepStrictEqual([job.status, next.map(({ spec }) => spec)], ['done', [2]]);
    // The same call again, as after a lost answer, gives the same job under the same lease.
    const repeated = await left.jobs.complete(first, { result: 'a', next: { ...claim, claimId: 'fused-1' } });
    strictEqual(repeated.next[0]?.leaseToken, next[0]?.leaseToken);
    ok(next[0]);
    const failed = await left.jobs.fail(next[0], { error: 'x', requeue: false, next: claim });
    deepStrictEqual([failed.job.status, failed.next.map(({ spec }) => spec)], ['failed', [3]]);
  });

  test('many jobs are completed by one call, each judged by itself', async () => {
    await head.jobs.createBatch([
      { target: 'any', type: 'many', newType: true },
      { target: 'any', type: 'many', newType: true },
    ]);
    const [one, two] = await left.jobs.claimNext({ targets: ['any'], types: ['many'], max: 2 });
    ok(one && two);
    const outcomes = await left.jobs.completeBatch([
      { id: one.id, leaseToken: one.leaseToken, result: 1 },
      { id: two.id, leaseToken: 'wrong', result: 2 },
    ]);
    deepStrictEqual(
      outcomes.map((one) => [one.id, one.ok ? one.job.status : one.error]),
      [
        [one.id, 'done'],
        [two.id, 'lease_lost'],
      ],
    );
  });

  test('jobs are finished without being sent back, and the next ones come with the answer', async () => {
    await head.jobs.createBatch(
      [1, 2, 3, 4].map((spec) => ({ target: 'any', type: 'brief', newType: true, spec })),
    );
    const next = { targets: ['any'], types: ['brief'], max: 1 };
    const [one] = await left.jobs.claimNext(next);
    ok(one);
    const [two] = await left.jobs.finish(one, 'complete', { result: 1, next });
    ok(two);
    const { results, next: more } = await left.jobs.finishBatch([two, { id: 'nothing' }], { next });
    deepStrictEqual(results[0], {
      id: two.id,
      ok: true,
      job: { id: two.id, no: two.no, status: 'done', state: 'done' },
    });
    deepStrictEqual([results[1]?.ok, more.map(({ spec }) => spec)], [false, [3]]);
    ok(more[0]);
    deepStrictEqual(await left.jobs.finish(more[0], 'fail', { error: 'x', requeue: false }), []);
    strictEqual((await head.jobs.get(more[0].id)).status, 'failed');
  });

  test('a file can belong to a job', async () => {
    const { id } = await head.jobs.create({ target: 'any', type: 'artist', newType: true });
    const [job] = await left.jobs.claimNext({ targets: ['any'], types: ['artist'] });
    ok(job);
    const stored = await left.blobs.upload('a picture', { filename: 'p.txt', job });
    deepStrictEqual(
      (await head.jobs.blobs(id)).map((blob) => blob.id),
      [stored.id],
    );
  });

  test('the live feed tells what happened and goes on with what happens', async () => {
    const { id } = await head.jobs.create({ spec: 'news' });
    const seen: string[] = [];
    for await (const { data } of head.events({ lastEventId: '0', filter: { jobId: id } })) {
      strictEqual(data.jobId, id);
      seen.push(data.type);
      if (seen.length === 1) await head.jobs.comment(id, 'live');
      else break;
    }
    deepStrictEqual(seen, ['job.created', 'job.comment']);
  });
});
