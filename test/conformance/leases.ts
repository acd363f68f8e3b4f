import assert from 'node:assert/strict';
import {
  claimed,
  create,
  type Each,
  eventKinds,
  HEAD,
  read,
  refusal,
  refused,
  stateOf,
  SYSTEM,
  worker,
} from '../support/engines.ts';

export function leaseTopics(each: Each): void {
  each('refuses a holder whose lease ran out and went to somebody else, whatever it tries', async (spine) => {
    const { engine, clock } = spine;
    const job = await create(spine, { leaseMs: 1_000 });
    const old = (await claimed(spine, job, worker('slow'))).leaseToken;
    await clock.advance(1_000);
    await engine.core.perform({ kind: 'expire', id: job.id, actor: SYSTEM });
    const now = await claimed(spine, job, worker('quick'));
    const slow = worker('slow');
    const tries = [
      engine.leases.heartbeat(slow, job.id, old, 'still here'),
      engine.leases.complete(slow, job.id, old, 'late'),
      engine.leases.fail(slow, job.id, old, 'late', true),
      engine.leases.release(slow, job.id, old, null),
      engine.leases.log(slow, job.id, old, [{ at: 1, level: 'info', text: 'late' }]),
      engine.jobs.snooze(slow, job.id, engine.now() + 9_000, old),
    ];
    // Heartbeats have a lane of their own, so that any of them may be refused first.
    assert.deepEqual(
      await Promise.all(tries.map(refusal)),
      tries.map(() => 'lease_lost'),
    );
    assert.deepEqual(await read(spine, job), now);
    assert.deepEqual(await engine.jobs.logs(HEAD, job.id, 0, 10), []);
  });

  each('takes a lease token whole, and nothing that is only like it', async (spine) => {
    const { engine } = spine;
    const job = await create(spine);
    const held = await claimed(spine, job);
    const token = held.leaseToken ?? '';
    const verbs = (leaseToken: string) => [
      engine.leases.heartbeat(worker('w'), job.id, leaseToken, null),
      engine.leases.log(worker('w'), job.id, leaseToken, [{ at: 1, level: 'info', text: 'mine?' }]),
      engine.jobs.snooze(worker('w'), job.id, engine.now() + 9_000, leaseToken),
      engine.leases.release(worker('w'), job.id, leaseToken, null),
      engine.leases.fail(worker('w'), job.id, leaseToken, 'broken', true),
      engine.leases.complete(worker('w'), job.id, leaseToken, null),
    ];
    for (const like of tokensLike(token)) {
      for (const answer of await Promise.all(verbs(like).map(refusal)))
        assert.equal(answer, 'lease_lost', like);
    }
    assert.deepEqual(await read(spine, job), held);

    // Repeating the call that ended a lease is harmless, but it takes the same token.
    await engine.leases.complete(worker('w'), job.id, token, null);
    for (const like of tokensLike(token)) {
      const again = engine.leases.complete(worker('w'), job.id, like, null);
      assert.equal(await refusal(again), 'lease_lost', like);
    }
  });

  each('decides a heartbeat and the reaper by who came first', async (spine) => {
    const { engine, clock } = spine;
    const [beats, reaped] = [
      await create(spine, { leaseMs: 1_000 }),
      await create(spine, { leaseMs: 1_000 }),
    ];
    const [first, second] = [await claimed(spine, beats), await claimed(spine, reaped)];
    await clock.advance(1_500);
    await engine.leases.heartbeat(worker('w'), beats.id, first.leaseToken, null);
    await engine.core.perform({ kind: 'expire', id: beats.id, actor: SYSTEM });
    assert.equal(await stateOf(spine, beats), 'running');
    await engine.core.perform({ kind: 'expire', id: reaped.id, actor: SYSTEM });
    assert.equal(
      await refusal(engine.leases.heartbeat(worker('w'), reaped.id, second.leaseToken, null)),
      'lease_lost',
    );
    assert.equal(await stateOf(spine, reaped), 'queued');
  });

  each('answers a repeated ending like the first time, and writes nothing', async (spine) => {
    const { engine } = spine;
    const job = await create(spine);
    const { leaseToken } = await claimed(spine, job);
    await engine.leases.complete(worker('w'), job.id, leaseToken, { n: 1 });
    const before = await read(spine, job);
    const again = await engine.leases.complete(worker('w'), job.id, leaseToken, { n: 2 });
    assert.deepEqual(again.repeated, { verb: 'complete', state: 'done' });
    assert.deepEqual(await read(spine, job), before);
    assert.equal((await engine.jobs.details([before])).get(job.no)?.result, '{"n":1}');
    assert.equal(
      await refusal(engine.leases.fail(worker('w'), job.id, leaseToken, null, true)),
      'lease_lost',
    );
  });

  each(
    'marks a job dead when it is claimed over its limit, although the claim is refused [SP-33]',
    async (spine) => {
      const { engine } = spine;
      const job = await create(spine, { maxAttempts: 1 });
      const { leaseToken } = await claimed(spine, job);
      await engine.leases.release(worker('w'), job.id, leaseToken, null);
      const error = await refused(engine.leases.claim(worker('w'), job.id));
      assert.deepEqual(
        [error.code, error.details],
        ['max_attempts_reached', { attempts: 1, maxAttempts: 1 }],
      );
      assert.equal(await stateOf(spine, job), 'dead');
      assert.equal(await refusal(engine.leases.claim(worker('w'), job.id)), 'terminal_status');
    },
  );

  each('raises the fence with every claim and never gives out a token twice', async (spine) => {
    const job = await create(spine, { maxAttempts: 20 });
    const tokens = new Set<string | null>();
    for (let fence = 1; fence <= 10; fence++) {
      const held = await claimed(spine, job);
      assert.equal(held.fence, fence);
      tokens.add(held.leaseToken);
      await spine.engine.leases.release(worker('w'), job.id, held.leaseToken, null);
    }
    assert.equal(tokens.size, 10);
  });

  each('ends an expired lease once, however many ask for it', async (spine) => {
    const job = await create(spine, { leaseMs: 1_000 });
    await claimed(spine, job);
    await spine.clock.advance(1_000);
    const expire = () => spine.engine.core.perform({ kind: 'expire', id: job.id, actor: SYSTEM });
    await Promise.all(Array.from({ length: 10 }, expire));
    assert.deepEqual(await eventKinds(spine, job), ['job.created', 'job.claimed', 'job.expired']);
  });

  each('finds leases that have run out, oldest first, and no others', async (spine) => {
    const { engine, store } = spine;
    const leases = [3_000, 1_000, 2_000, 9_000];
    const jobs = [];
    for (const leaseMs of leases) {
      const job = await create(spine, { leaseMs });
      await claimed(spine, job);
      jobs.push(job);
    }
    await create(spine, { leaseMs: 1 });
    const [third, first, second] = jobs;
    assert.deepEqual(await store.read.leases.expired(engine.now() + 999, 10), []);
    assert.deepEqual(await store.read.leases.expired(engine.now() + 3_000, 10), [
      first?.id,
      second?.id,
      third?.id,
    ]);
    assert.deepEqual(await store.read.leases.expired(engine.now() + 3_000, 2), [first?.id, second?.id]);
  });

  each('finds what is due, and says when the next moment comes', async (spine) => {
    const { engine, store } = spine;
    assert.equal(await store.read.jobs.nextDueAt(), null);
    const now = engine.now();
    const late = await create(spine, { runAt: now + 9_000 });
    const soon = await create(spine, { runAt: now + 5_000 });
    const timed = await create(spine, { timeoutMs: 7_000 });
    assert.equal(await store.read.jobs.nextDueAt(), now + 5_000);
    await claimed(spine, timed);
    const { timeoutAt } = await read(spine, timed);
    assert.deepEqual(await store.read.jobs.due(now + 9_000, 10), [soon.id, late.id]);
    assert.deepEqual(await store.read.jobs.due(now + 4_999, 10), []);
    assert.deepEqual(await store.read.leases.timedOut((timeoutAt ?? 0) - 1, 10), []);
    assert.deepEqual(await store.read.leases.timedOut(timeoutAt ?? 0, 10), [timed.id]);
  });
}

/** Beginnings, longer ones, and tokens that differ in one place: what a careless comparison lets through. */
function tokensLike(token: string): string[] {
  const last = token.endsWith('A') ? 'B' : 'A';
  const first = token.startsWith('A') ? 'B' : 'A';
  return [
    '',
    token.slice(0, 8),
    token.slice(0, -1),
    token.slice(1),
    `${token}A`,
    token.slice(0, -1) + last,
    first + token.slice(1),
    token.slice(0, 8) + last.repeat(token.length - 8),
  ];
}
