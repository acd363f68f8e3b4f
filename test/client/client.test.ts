import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert';
import { suite, test } from 'node:test';
import { SpineApiError, SpineClient, SpineConnectionError } from '../../src/client/index.ts';
import { backoffMs } from '../../src/client/retry.ts';
import {
  type Act,
  FakePlatform,
  hangsUp,
  hastyPlatform,
  loopback,
  neverAnswers,
  says,
  nextRound,
} from './support.ts';

const JOB = { id: 'a', status: 'queued' };
const NOT_NOW = { error: 'shutting_down', message: 'Stopping.', retryable: true, hint: 'Again.' };

function clientFor({ url }: { url: string }, options: { retries?: number; timeoutMs?: number } = {}) {
  const platform = hastyPlatform();
  return {
    platform,
    client: new SpineClient({ baseUrl: url, token: 'secret', platform, ...options }),
  };
}

suite('repeating', () => {
  test('sends a create whose answer was lost again, with the same key and the same body', async () => {
    await using server = await loopback(hangsUp, says(500, {}), says(201, JOB));
    const { client } = clientFor(server);
    strictEqual((await client.jobs.create({ spec: 'once' })).id, 'a');
    await client.jobs.create({ spec: 'another' });
    const keys = server.seen.map(({ headers }) => headers['idempotency-key']);
    deepStrictEqual(keys, ['id1', 'id1', 'id1', 'id2']);
    strictEqual(new Set(server.seen.slice(0, 3).map(({ body }) => body)).size, 1);
  });

  test("uses the caller's own idempotency key", async () => {
    await using server = await loopback(says(201, JOB));
    await clientFor(server).client.jobs.create({}, { idempotencyKey: 'order-66' });
    strictEqual(server.seen[0]?.headers['idempotency-key'], 'order-66');
  });

  test('asks for a lost claim again under the same claimId', async () => {
    await using server = await loopback(hangsUp, says(200, { jobs: [] }));
    const { client } = clientFor(server);
    await client.jobs.claimNext({ targets: ['any'], waitMs: 10 });
    await client.jobs.claimNext({ targets: ['any'] });
    const ids = server.seen.map(({ body }) => (JSON.parse(body) as { claimId: string }).claimId);
    deepStrictEqual(ids, ['id1', 'id1', 'id2']);
  });

  test('repeats what a lease token makes repeatable, and nothing of it without a token', async () => {
    await using server = await loopback(hangsUp, says(200, JOB), hangsUp);
    const { client } = clientFor(server);
    await client.jobs.complete({ id: 'a', leaseToken: 't' }, { result: 1 });
    strictEqual(server.seen.length, 2);
    await rejects(client.jobs.complete({ id: 'a' }), SpineConnectionError);
    strictEqual(server.seen.length, 3);
  });

  test('does not repeat a comment that may have arrived', async () => {
    await using server = await loopback(hangsUp);
    const { client } = clientFor(server);
    await rejects(client.jobs.comment('a', 'hello'), { name: 'SpineConnectionError', mayHaveArrived: true });
    strictEqual(server.seen.length, 1);
  });

  test('does not repeat a comment after an answer that is not Spine\'s own "not now"', async () => {
    await using server = await loopback(says(503, { oops: true }));
    const { client } = clientFor(server);
    await rejects(client.jobs.comment('a', 'hello'), { code: 'http_503' });
    strictEqual(server.seen.length, 1);
  });

  test('repeats any call that certainly changed nothing', async () => {
    await using server = await loopback(says(503, NOT_NOW), says(200, JOB));
    const { client, platform } = clientFor(server);
    await client.jobs.comment('a', 'hello');
    strictEqual(server.seen.length, 2);
    const nobody = new SpineClient({ baseUrl: 'http://127.0.0.1:1', platform, retries: 2 });
    platform.waits.length = 0;
    await rejects(nobody.jobs.comment('a', 'hello'), { code: 'ECONNREFUSED', mayHaveArrived: false });
    strictEqual(platform.waits.length, 2);
  });

  test('waits at least as long as Retry-After says', async () => {
    const date = new Date(0).toUTCString();
    const later = new Date(3_000).toUTCString();
    await using server = await loopback(
      says(429, { error: 'overloaded' }, { 'retry-after': '2' }),
      says(503, NOT_NOW, { 'retry-after': later, date }),
      says(200, JOB),
    );
    const { client, platform } = clientFor(server);
    await client.jobs.get('a');
    deepStrictEqual(platform.waits, [2_100, 3_200]);
  });

  test('passes on an answer that asks for more patience than anybody has', async () => {
    await using server = await loopback(
      says(429, { error: 'overloaded', retryable: true }, { 'retry-after': '3600' }),
    );
    await rejects(clientFor(server).client.jobs.get('a'), { retryAfterMs: 3_600_000 });
    strictEqual(server.seen.length, 1);
  });

  test('gives up after the allowed tries, with the last problem', async () => {
    await using server = await loopback(says(500, { error: 'internal', requestId: 'r-1' }));
    await rejects(clientFor(server, { retries: 3 }).client.jobs.get('a'), {
      code: 'internal',
      requestId: 'r-1',
    });
    strictEqual(server.seen.length, 4);
  });

  test('waits a random part of a ceiling that doubles and then stays', () => {
    const ceilings = [0, 1, 2, 3, 10, 1_000].map((failures) => backoffMs({ random: () => 1 }, failures));
    deepStrictEqual(ceilings, [200, 400, 800, 1_600, 10_000, 10_000]);
    strictEqual(backoffMs({ random: () => 0 }, 5), 0);
  });
});

suite('refusals', () => {
  test('say everything that the server said, and a lost race is not repeated', async () => {
    const body = {
      error: 'lease_lost',
      message: 'Gone.',
      retryable: false,
      hint: 'Stop.',
      claimedBy: 'right-claw',
    };
    await using server = await loopback(says(409, body));
    const error = await clientFor(server)
      .client.jobs.heartbeat({ id: 'a', leaseToken: 'old' })
      .catch((problem: unknown) => problem);
    ok(error instanceof SpineApiError);
    deepStrictEqual(
      [error.code, error.status, error.message, error.hint, error.retryable, error.details, error.requestId],
      ['lease_lost', 409, 'Gone.', 'Stop.', false, { claimedBy: 'right-claw' }, null],
    );
    strictEqual(server.seen.length, 1);
  });

  test("of a proxy are told by their status, with the proxy's request id", async () => {
    const page: Act = (response) => {
      response.writeHead(502, { 'content-type': 'text/html', 'x-request-id': 'p-1' });
      response.end('<h1>Bad gateway</h1>');
    };
    await using server = await loopback(page);
    await rejects(clientFor(server, { retries: 0 }).client.jobs.get('a'), {
      code: 'http_502',
      retryable: true,
      requestId: 'p-1',
    });
  });

  test('name an answer that is no JSON', async () => {
    await using server = await loopback((response) => response.end('<html>'));
    await rejects(clientFor(server, { retries: 0 }).client.health(), { code: 'BAD_ANSWER' });
  });

  test('name an address that is none before anything is sent', () => {
    for (const baseUrl of ['', 'localhost:36725', 'ftp://a', 'http://', 'http://a/?x=1', 'http://u:p@a/']) {
      let error: unknown;
      try {
        error = new SpineClient({ baseUrl });
      } catch (problem) {
        error = problem;
      }
      ok(error instanceof TypeError, baseUrl);
    }
  });
});

suite('limits', () => {
  test('a call without an answer ends after its time, and a claim gets its wait on top', async () => {
    await using server = await loopback(neverAnswers);
    const platform = new FakePlatform();
    const client = new SpineClient({ baseUrl: server.url, platform, timeoutMs: 1_000, retries: 0 });
    const codes: string[] = [];
    const note = (error: SpineConnectionError): void => void codes.push(error.code);
    const get = client.jobs.get('a').then(String, note);
    const claim = client.jobs.claimNext({ waitMs: 20_000 }).then(String, note);
    while (server.seen.length < 2) await nextRound();
    await platform.advance(1_001);
    await get;
    deepStrictEqual(codes, ['TIMEOUT']);
    await platform.advance(20_000);
    await claim;
    deepStrictEqual(codes, ['TIMEOUT', 'TIMEOUT']);
  });

  test('the signal of the caller ends a call under way, with its own reason', async () => {
    await using server = await loopback(neverAnswers);
    const { client } = clientFor(server);
    const ending = new AbortController();
    const call = client.jobs.get('a', { signal: ending.signal });
    while (server.seen.length < 1) await nextRound();
    ending.abort(new Error('enough'));
    await rejects(call, { message: 'enough' });
    await rejects(client.jobs.get('a', { signal: ending.signal }), { message: 'enough' });
    strictEqual(server.seen.length, 1);
  });

  test('the signal of the caller ends the wait between two tries', async () => {
    await using server = await loopback(says(503, NOT_NOW));
    const platform = new FakePlatform();
    const client = new SpineClient({ baseUrl: server.url, platform });
    const ending = new AbortController();
    const call = client.jobs
      .get('a', { signal: ending.signal })
      .then(String, (error: Error) => error.message);
    while (server.seen.length < 1) await nextRound();
    await nextRound();
    ending.abort(new Error('enough'));
    strictEqual(await call, 'enough');
    strictEqual(server.seen.length, 1);
  });
});

suite('requests', () => {
  test('carry the token, the names of the route in their place, and no field that is not set', async () => {
    await using server = await loopback(says(200, JOB));
    const { client } = clientFor({ url: `${server.url}/base/` });
    await client.jobs.get('a/../b');
    await client.pauses.pause('type', 'ä b');
    await client.jobs.fail({ id: 'a', leaseToken: 't' }, { error: 'x', requeue: false });
    const sent = server.seen.map(({ method, url, body }) => [method, url, body]);
    deepStrictEqual(sent, [
      ['GET', '/base/jobs/a%2F..%2Fb', ''],
      ['POST', '/base/types/%C3%A4%20b/pause', '{}'],
      ['POST', '/base/jobs/a/fail', '{"error":"x","requeue":false,"leaseToken":"t"}'],
    ]);
    strictEqual(server.seen[0]?.headers.authorization, 'Bearer secret');
  });

  test('of a list follow its pages to the last', async () => {
    await using server = await loopback(
      says(200, { jobs: [{ id: 'a' }, { id: 'b' }], nextCursor: '2' }),
      says(200, { jobs: [{ id: 'c' }], nextCursor: null }),
    );
    const ids: string[] = [];
    for await (const { id } of clientFor(server).client.jobs.list({ state: 'queued', limit: 2 }))
      ids.push(id);
    deepStrictEqual(ids, ['a', 'b', 'c']);
    deepStrictEqual(
      server.seen.map(({ url }) => url),
      ['/jobs?limit=2&state=queued', '/jobs?limit=2&state=queued&cursor=2'],
    );
  });

  test('that complete and take the next name the claim, so that it can be repeated', async () => {
    await using server = await loopback(hangsUp, says(200, { job: JOB, next: [{ id: 'b' }] }));
    const { client } = clientFor(server);
    const { next } = await client.jobs.complete(
      { id: 'a', leaseToken: 't' },
      { result: 1, next: { targets: ['any'], max: 2 } },
    );
    strictEqual(next[0]?.id, 'b');
    const body = { result: 1, next: { claimId: 'id1', targets: ['any'], max: 2 }, leaseToken: 't' };
    deepStrictEqual(
      server.seen.map((one) => JSON.parse(one.body) as unknown),
      [body, body],
    );
  });
});
