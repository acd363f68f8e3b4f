import { deepStrictEqual, rejects, strictEqual } from 'node:assert';
import type { ObjectStore } from '../../src/objects/objects.ts';
import { objectSweeper } from '../../src/loops/object-sweeper.ts';
import { claimed, create, DIALECTS, onEvery, type Opened, worker } from '../support/engines.ts';

const W = worker('w');
const MINUTE_MS = 60_000;

/** A storage in memory, of which some names cannot be removed. */
function shelf(stuck: ReadonlySet<string> = new Set()): ObjectStore & { readonly names: Set<string> } {
  const names = new Set<string>();
  return {
    names,
    dataPrefix: 'worker-data',
    put: async (key) => void names.add(key),
    open: async () => null,
    remove: async (key) => {
      if (stuck.has(key)) throw new Error(`${key} is held`);
      names.delete(key);
    },
  };
}

async function announced(spine: Opened, objects: ObjectStore, count = 1) {
  const held = await claimed(spine, await create(spine));
  const batches = [];
  for (let i = 0; i < count; i++) {
    const key = spine.engine.taskData.newKey('worker-data', held, 'posts');
    const batch = { key, dataType: 'posts', items: 1, size: 1, sha256: 's' };
    await spine.engine.taskData.announce(W, held, batch);
    await objects.put(key, Buffer.from('x'));
    batches.push(batch);
  }
  return { held, batches };
}

onEvery(DIALECTS, (each) => {
  each(
    'what a server stored and died before it recorded is removed, what is recorded stays [TQ-11]',
    async (spine) => {
      const objects = shelf();
      const { held, batches } = await announced(spine, objects, 2);
      const [kept, lost] = batches;
      if (kept === undefined || lost === undefined) throw new Error('nothing was announced');
      const sweeper = objectSweeper(spine.engine.core, objects, MINUTE_MS);
      strictEqual((await sweeper.runOnce()).done, 0, 'it may be on its way');
      strictEqual(await spine.engine.taskData.record(W, held, kept, { externalIds: [], tickers: [] }), true);
      deepStrictEqual(
        (await spine.engine.taskData.list(held, { dataType: null, ticker: null, limit: 9, offset: 0 })).map(
          ({ key }) => key,
        ),
        [kept.key],
      );
      await spine.clock.advance(16 * MINUTE_MS);
      strictEqual((await sweeper.runOnce()).done, 1);
      deepStrictEqual([...objects.names], [kept.key]);
      await rejects(spine.engine.taskData.record(W, held, lost, { externalIds: ['a'], tickers: [] }), {
        code: 'storage_unavailable',
      });
      // Nothing of the refused record is kept: the same items may come again.
      deepStrictEqual([...(await spine.engine.taskData.known(held, 'posts', ['a']))], []);
      strictEqual(await spine.engine.taskData.total(held), 1);
    },
  );

  each(
    'objects that cannot be removed do not keep the others, and are tried again [TQ-11]',
    async (spine) => {
      const stuck = new Set<string>();
      const objects = shelf(stuck);
      const { batches } = await announced(spine, objects, 8);
      await spine.clock.advance(16 * MINUTE_MS);
      // Those announced in one moment go in the order of their names: here these are the first.
      const names = batches.map(({ key }) => key).toSorted();
      for (const key of names.slice(0, 3)) stuck.add(key);
      const sweeper = objectSweeper(spine.engine.core, objects, MINUTE_MS);
      await rejects(sweeper.runOnce(), /is held/);
      strictEqual((await sweeper.runOnce()).done, 5);
      stuck.clear();
      await spine.clock.advance(16 * MINUTE_MS);
      strictEqual((await sweeper.runOnce()).done, 3);
      strictEqual(objects.names.size, 0);
    },
  );
});
