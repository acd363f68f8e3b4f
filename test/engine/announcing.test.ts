import assert from 'node:assert/strict';
import { deliveries } from '../support/delivering.ts';
import {
  claimed,
  create,
  DIALECTS,
  failed,
  finished,
  HEAD,
  onEvery,
  type Opened,
  settleAll,
  worker,
} from '../support/engines.ts';

const CHAT = { channel: 'telegram', target: '-100', batchMs: 5_000 };

async function told(spine: Opened): Promise<(string | null)[]> {
  return (await deliveries(spine)).map(({ text }) => text);
}

onEvery(DIALECTS, (each) => {
  each(
    'the operator’s chat is told of the ends of announced jobs, and of no others [TQ-29 TQ-30]',
    async (spine) => {
      await finished(spine, await create(spine, { title: 'Quiet' }));
      await finished(spine, await create(spine, { title: 'Crawl *NVDA*', announce: true }), { posts: 847 });
      await failed(spine, await create(spine, { title: 'B', announce: true }), false);
      await failed(spine, await create(spine, { title: 'C', announce: true, maxAttempts: 1 }), true);
      const stopped = await create(spine, { title: 'D', announce: true });
      await spine.engine.jobs.cancel(HEAD, stopped.id, 'no need');
      const again = await create(spine, { title: 'E', announce: true });
      await failed(spine, again, true);
      assert.deepEqual(await told(spine), [
        '*Crawl *\\**NVDA*\\* completed by w. posts: 847',
        '*B* failed. Reason: broken. Retry: no',
        '*C* failed after 1 attempt. Needs human attention.',
      ]);
      const [first] = await deliveries(spine);
      assert.deepEqual([first?.kind, first?.channel, first?.target], ['chat', 'telegram', '-100']);
      await finished(spine, again);
      assert.equal((await told(spine)).at(-1), '*E* completed by w.');
    },
    { chat: CHAT },
  );

  each(
    'a retry of an announced job is announced, too, and the last one says that none is left [TQ-30]',
    async (spine) => {
      const lineage = { mode: 'lineage', max: 1 } as const;
      const job = await create(spine, { title: 'T', announce: true, retry: lineage });
      await failed(spine, job);
      await settleAll(spine);
      const [next = job] = await spine.store.read.jobs.byNo([job.no + 1]);
      assert.equal(next.announce, true);
      await failed(spine, next);
      assert.deepEqual(await told(spine), [
        '*T* failed. Reason: broken. Retry: yes',
        '*T* failed after 1 attempt. Needs human attention.',
      ]);
    },
    { chat: CHAT },
  );

  each(
    'a transaction tells the chat in its own commit, of a job once and never of what was undone',
    async (spine) => {
      const { core } = spine.engine;
      const job = await create(spine, { title: 'T', announce: true });
      const to = await core.subscribers();
      const undone = core.flusher.transact(HEAD, async (tx, changeSet) => {
        await changeSet.announcer.chat(tx, job, 'lost', to);
        throw new Error('undone');
      });
      await assert.rejects(undone, /undone/);
      await core.flusher.transact(HEAD, async (tx, changeSet) => {
        await changeSet.announcer.chat(tx, job, 'once', to);
        await changeSet.announcer.chat(tx, job, 'twice', to);
        await changeSet.announcer.chat(tx, null, 'of none', to);
        await changeSet.announcer.chat(tx, null, 'of none either', to);
      });
      assert.deepEqual(await told(spine), ['once', 'of none', 'of none either']);
    },
    { chat: CHAT },
  );

  each(
    'somebody is asked in the chat when an announced job needs approval [TQ-46]',
    async (spine) => {
      await create(spine, { title: 'Careful', announce: true, approval: {} });
      await create(spine, { title: 'Elsewhere', approval: {} });
      const asked = await deliveries(spine);
      assert.deepEqual(
        asked.map(({ kind, target }) => [kind, target]),
        [['approval', '-100']],
      );
    },
    { chat: CHAT },
  );

  each('without a chat nobody is told anything [TQ-33]', async (spine) => {
    const job = await create(spine, { title: 'T', announce: true });
    const held = await claimed(spine, job);
    await spine.engine.leases.complete(worker('w'), job.id, held.leaseToken, null);
    await spine.engine.core.flusher.transact(HEAD, async (tx, changeSet) =>
      changeSet.announcer.chat(tx, job, 'x', await spine.engine.core.subscribers()),
    );
    assert.deepEqual(await told(spine), []);
  });
});
