import assert from 'node:assert/strict';
import { watchBudgets } from '../../src/engine/spending.ts';
import { deliveries } from '../support/delivering.ts';
import {
  claimed,
  claimNext,
  create,
  DIALECTS,
  failed,
  finished,
  HEAD,
  onEvery,
  type Opened,
  POSTGRES,
  refusal,
  worker,
} from '../support/engines.ts';

const OPTIONS = { chat: { channel: 'telegram', target: '-100', batchMs: 0 } };
const DAY_MS = 86_400_000;
const W = worker('w');

async function spent(spine: Opened, days = 1): Promise<unknown[]> {
  const list = await spine.engine.spending.days(days);
  return list.map(({ types }) =>
    types.map(({ type, reports, usage }) => [type, reports, usage.totalTokens, usage.costMicros]),
  );
}

async function take(spine: Opened, tokens: number): Promise<void> {
  await finished(spine, await create(spine, { type: 'digest' }), { usage: { totalTokens: tokens } });
  await watchBudgets(spine.engine.core);
}

async function isPaused(spine: Opened): Promise<boolean> {
  return (await spine.engine.routing.current()).pauses.some(({ name }) => name === 'digest');
}

onEvery(DIALECTS, (each) => {
  each('what models were asked about failures is told by the day [TQ-48]', async (spine) => {
    const { store, engine } = spine;
    const ask = async (inputTokens: number, error: string | null): Promise<void> =>
      store.transaction(0, async (tx) => {
        const what = { purpose: 'advice', subject: 'f', model: 'm' } as const;
        const call = { ...what, at: engine.now(), inputTokens, outputTokens: 5, tookMs: 1, error };
        await tx.modelCalls.add([call]);
      });
    await ask(100, null);
    await spine.clock.advance(DAY_MS);
    await ask(20, null);
    await ask(0, 'no answer');
    assert.deepEqual(
      (await engine.spending.days(3)).map(({ advice }) => advice),
      [
        { calls: 2, inputTokens: 20, outputTokens: 10 },
        { calls: 1, inputTokens: 100, outputTokens: 5 },
        { calls: 0, inputTokens: 0, outputTokens: 0 },
      ],
    );
  });

  each('what attempts took is summed by type and day, whoever told of it and how [TQ-48]', async (spine) => {
    await finished(spine, await create(spine, { type: 'a' }), {
      usage: { input_tokens: 5, output_tokens: 2 },
    });
    await failed(spine, await create(spine, { type: 'a' }), false, { text: 'x', usage: { totalTokens: 3 } });
    await finished(spine, await create(spine), { usage: { totalTokens: 1 }, costUsd: 0.5 });
    await finished(spine, await create(spine), { nothing: true });
    await spine.clock.advance(DAY_MS);
    await finished(spine, await create(spine, { type: 'a' }), { usage: { totalTokens: 7 } });
    assert.deepEqual(await spent(spine, 3), [
      [['a', 1, 7, 0]],
      [
        [null, 1, 1, 500_000],
        ['a', 2, 10, 0],
      ],
      [],
    ]);
  });

  each(
    'a holder tells what it took so far, again and again; each claim counts for itself [TQ-48]',
    async (spine) => {
      const took = (totalTokens: number) => ({
        inputTokens: 0,
        outputTokens: 0,
        totalTokens,
        costMicros: 10,
      });
      const job = await create(spine, { type: 'a' });
      const { leases } = spine.engine;
      const first = await claimed(spine, job);
      await leases.heartbeat(W, job.id, first.leaseToken, null, { usage: took(10) });
      await leases.heartbeat(W, job.id, first.leaseToken, null, { usage: took(30) });
      await leases.heartbeat(W, job.id, first.leaseToken, null, { usage: took(20) });
      await leases.fail(W, job.id, first.leaseToken, 'x', true, { usage: took(40) });
      const second = await claimed(spine, job);
      await leases.complete(W, job.id, second.leaseToken, { usage: { totalTokens: 99 } }, undefined, took(5));
      // Said once more, because nobody heard the answer.
      await leases.complete(W, job.id, second.leaseToken, { usage: { totalTokens: 99 } }, undefined, took(5));
      assert.deepEqual(await spent(spine), [[['a', 2, 45, 20]]]);
      const attempts = await spine.engine.spending.ofJob(HEAD, job.id);
      assert.deepEqual(
        attempts.map(({ fence, usage }) => [fence, usage.totalTokens]),
        [
          [1, 40],
          [2, 5],
        ],
      );
      const late = leases.heartbeat(W, job.id, first.leaseToken, null, { usage: took(1_000) });
      assert.notEqual(await refusal(late), '');
      assert.deepEqual(await spent(spine), [[['a', 2, 45, 20]]]);
    },
  );

  each('a job keeps what its last hundred claims took, and every claim counts', async (spine) => {
    const { leases, spending } = spine.engine;
    const job = await create(spine, { type: 'a', maxAttempts: 200 });
    const usage = { inputTokens: 0, outputTokens: 0, totalTokens: 1, costMicros: 0 };
    for (let claims = 1; claims <= 102; claims++) {
      const held = await claimed(spine, job);
      // Of most nothing is told; those are the first two and the last.
      if (claims < 3 || claims > 101) await leases.heartbeat(W, job.id, held.leaseToken, null, { usage });
      await leases.release(W, job.id, held.leaseToken, null);
    }
    const attempts = await spending.ofJob(HEAD, job.id);
    assert.deepEqual(
      attempts.map(({ fence }) => fence),
      [102],
    );
    assert.deepEqual(await spent(spine), [[['a', 3, 3, 0]]]);
  });

  each(
    'a type whose budget is used up is paused and nothing fails; somebody is asked once, and the next day it goes on [TQ-48]',
    async (spine) => {
      await create(spine, { type: 'digest' });
      await spine.engine.spending.setBudget(HEAD, 'digest', { tokens: 100, costMicros: null });
      await take(spine, 60);
      assert.equal(await isPaused(spine), false);
      await take(spine, 40);
      assert.equal(await isPaused(spine), true);
      await watchBudgets(spine.engine.core);
      assert.equal((await claimNext(spine)).length, 0);
      const asked = await deliveries(spine);
      assert.deepEqual(
        asked.map(({ kind, text, buttons }) => [kind, text, buttons?.map(({ label }) => label)]),
        [
          [
            'budget',
            'The budget of digest for today is used up: 100 of 100 tokens. It is paused, and goes on tomorrow.',
            ['As much again', 'Tomorrow', 'Stay paused'],
          ],
        ],
      );
      await spine.clock.advance(DAY_MS);
      await watchBudgets(spine.engine.core);
      assert.equal((await claimNext(spine)).length, 1);
      const acts = (await spine.engine.audit.list(null, 10)).map(({ by, action }) => `${by} ${action}`);
      assert.deepEqual(acts, ['budgets type.resume', 'budgets type.pause', 'head budget.set']);
    },
    OPTIONS,
  );

  each(
    'a budget is raised by as much again for the day; what somebody else has paused it does not resume [TQ-48]',
    async (spine) => {
      await create(spine, { type: 'digest' });
      const { spending, routing } = spine.engine;
      await spending.setBudget(HEAD, 'digest', { tokens: null, costMicros: 1_000_000 });
      await finished(spine, await create(spine, { type: 'digest' }), { usage: { costUsd: 1.2 } });
      await watchBudgets(spine.engine.core);
      assert.equal(await isPaused(spine), true);
      await spending.raise(HEAD, 'digest');
      await watchBudgets(spine.engine.core);
      assert.equal(await isPaused(spine), false);
      await finished(spine, await create(spine, { type: 'digest' }), { usage: { costUsd: 0.8 } });
      await routing.pause(HEAD, 'type', 'digest');
      await watchBudgets(spine.engine.core);
      await spending.raise(HEAD, 'digest');
      assert.equal(await isPaused(spine), true, 'head has paused it');
      await spending.setBudget(HEAD, 'digest', { tokens: null, costMicros: null });
      assert.deepEqual(await spending.budgets(), []);
      assert.equal(await refusal(spending.raise(HEAD, 'digest')), 'not_found');
      assert.equal(
        await refusal(spending.setBudget(HEAD, 'no', { tokens: 1, costMicros: null })),
        'not_found',
      );
    },
    OPTIONS,
  );

  each('a person’s pause of a type that a budget has paused outlasts the day', async (spine) => {
    const last = await create(spine, { type: 'digest', leaseMs: 7 * DAY_MS });
    const held = await claimed(spine, last);
    await spine.engine.spending.setBudget(HEAD, 'digest', { tokens: 1, costMicros: null });
    const by = async (): Promise<unknown[]> =>
      (await spine.engine.routing.current()).pauses.map((pause) => pause.by);
    await take(spine, 1);
    assert.deepEqual(await by(), ['budgets']);
    await spine.engine.routing.pause(HEAD, 'type', 'digest');
    assert.deepEqual(await by(), ['head']);
    for (let day = 0; day < 2; day++) {
      await spine.clock.advance(DAY_MS);
      await watchBudgets(spine.engine.core);
      assert.deepEqual(await by(), ['head']);
    }
    await spine.engine.leases.complete(W, last.id, held.leaseToken, { usage: { totalTokens: 1 } });
    await watchBudgets(spine.engine.core);
    assert.deepEqual(await by(), ['head'], 'nor does a budget take it over');
  });
});

onEvery([POSTGRES], (each) => {
  each(
    'two servers that see a budget used up pause its type and ask once [TQ-48]',
    async (spine) => {
      await using other = (await spine.another?.(OPTIONS)) as Opened;
      await create(spine, { type: 'digest' });
      await spine.engine.spending.setBudget(HEAD, 'digest', { tokens: 1, costMicros: null });
      await finished(other, await create(other, { type: 'digest' }), { usage: { totalTokens: 1 } });
      await Promise.all([watchBudgets(spine.engine.core), watchBudgets(other.engine.core)]);
      assert.equal((await deliveries(spine)).length, 1);
      assert.equal((await claimNext(other)).length, 0);
    },
    OPTIONS,
  );
});
