import assert from 'node:assert/strict';
import { Pruner } from '../../src/loops/pruner.ts';
import {
  create,
  DIALECTS,
  finished,
  HEAD,
  onEvery,
  type Opened,
  refused,
  worker,
} from '../support/engines.ts';
import { plan, pump, runNow, runsOf, take } from '../support/scheduling.ts';

const DAY_MS = 86_400_000;

async function prune(spine: Opened): Promise<void> {
  const pruner = new Pruner(spine.engine.core, {
    everyMs: 1_000,
    retentionMs: 30 * DAY_MS,
    forget: async () => undefined,
  });
  while ((await pruner.runOnce()).more);
}

onEvery(DIALECTS, (each) => {
  each('counts of targets that are empty again go, and all others stay as they are', async (spine) => {
    const { store } = spine;
    const kept = await create(spine, { target: 'kept' });
    const count = (lane: string, target: string, by: number): Promise<void> =>
      store.transaction(0, async (tx) => tx.counters.add(lane, [{ target, state: 'queued', by }]));
    for (let i = 0; i < 120; i++) {
      await count('a', `gone ${i}`, 1);
      await count('b', `gone ${i}`, -1);
    }
    await count('a', 'kept', 1);
    await count('b', 'kept', -1);
    await prune(spine);
    const sums = { target: 'kept', state: 'queued', n: 1 };
    assert.deepEqual(await store.read.counters.all(), [sums]);
    // Nothing was left to drop.
    assert.equal(await store.transaction(0, async (tx) => tx.counters.dropEmpty(500)), 0);
    await finished(spine, kept);
    await prune(spine);
    assert.deepEqual(await store.read.counters.all(), [{ ...sums, state: 'done' }]);
  });

  each(
    'old runs, resolved approvals, messages and silent agents go; what waits stays [SC-16]',
    async (spine) => {
      const { engine, store } = spine;
      const gated = await plan(spine, { name: 'gated', target: 'x', approval_required: true });
      await runNow(spine, gated);
      await engine.approvals.resolveOf(HEAD, gated.id, { agree: false, notes: 'no', by: 'operator' });
      const plain = await plan(spine, { name: 'plain', target: 'x' });
      await runNow(spine, plain);
      const held = await take(spine, ['x']);
      assert.ok(held);
      await engine.leases.complete(worker('w'), held.job.id, held.job.leaseToken, 'ok');
      const waiting = await plan(spine, { name: 'waiting', target: 'x', approval_required: true });
      await runNow(spine, waiting);
      await engine.agents.register(HEAD, { id: 'kept' });
      const now = engine.now();
      const expired = await engine.messages.send(HEAD, {
        kind: 'text',
        to: 'kept',
        body: 'x',
        expiresAt: now + 1,
      });
      const open = await engine.messages.send(HEAD, { kind: 'text', to: 'kept', body: 'x' });
      const report = { kind: 'result', to: 'kept', body: 'x' } as const;
      const unheard = await engine.messages.send(HEAD, report);
      const heard = await engine.messages.send(HEAD, report);
      await engine.messages.read(HEAD, heard.id, 'kept');
      const forNobody = await engine.messages.send(HEAD, { kind: 'text', to: 'nobody-has-it', body: 'x' });
      await engine.tokens.add(HEAD, { name: 'silent', role: 'worker', targets: null });
      await pump(spine);
      await prune(spine);
      assert.equal((await runsOf(spine, plain)).length, 1);
      await spine.clock.advance(31 * DAY_MS);
      await prune(spine);
      assert.deepEqual([await runsOf(spine, gated), await runsOf(spine, plain)], [[], []]);
      assert.equal((await runsOf(spine, waiting)).length, 1);
      const approvals = await engine.approvals.list({ limit: 10 });
      assert.deepEqual(
        approvals.map(({ status }) => status),
        ['pending'],
      );
      for (const { id } of [expired, heard, forNobody])
        assert.equal((await refused(engine.messages.get(HEAD, id))).code, 'not_found');
      for (const { id } of [open, unheard])
        assert.equal((await engine.messages.get(HEAD, id)).receipts.length, 1);
      assert.deepEqual(await store.read.agents.ids(), ['kept']);
    },
  );

  each(
    'the children of a schedule that is deleted go with it, and never fire [SC-16 SC-41]',
    async (spine) => {
      const parent = await plan(spine, { name: 'parent', target: 'x' });
      const child = await plan(spine, {
        name: 'child',
        target: 'x',
        parent_id: parent.id,
        trigger_on: 'success',
      });
      await spine.engine.schedules.remove(HEAD, parent.id);
      assert.equal((await refused(spine.engine.schedules.get(HEAD, child.id))).code, 'not_found');
      await pump(spine);
      assert.deepEqual(
        await spine.engine.leases.claimNext(worker('w'), { targets: ['x'], max: 1, waitMs: 0 }),
        [],
      );
    },
  );
});
