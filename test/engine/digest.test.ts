import assert from 'node:assert/strict';
import { sendDigest } from '../../src/engine/digest.ts';
import { deliveries } from '../support/delivering.ts';
import {
  create,
  DIALECTS,
  failed,
  finished,
  onEvery,
  type Opened,
  POSTGRES,
  settleAll,
} from '../support/engines.ts';

const OPTIONS = { chat: { channel: 'telegram', target: '-100', batchMs: 0 } };
const HOUR_MS = 3_600_000;
const EIGHT = 8 * 60;

/** To the next eight o'clock by UTC. */
async function untilEight(spine: Opened): Promise<void> {
  const day = 24 * HOUR_MS;
  const wait = (8 * HOUR_MS - (spine.engine.now() % day) + day) % day;
  await spine.clock.advance(wait === 0 ? day : wait);
}

async function told(spine: Opened): Promise<(string | null)[]> {
  return (await deliveries(spine)).filter(({ kind }) => kind === 'digest').map(({ text }) => text);
}

onEvery(DIALECTS, (each) => {
  each(
    'a day is told once at its time: done, failed, retried, exhausted, cost and what waits for longest [TQ-47]',
    async (spine) => {
      const { core } = spine.engine;
      await untilEight(spine);
      assert.equal(await sendDigest(core, EIGHT), false, "the first one comes with the next eight o'clock");
      await finished(spine, await create(spine), { usage: { totalTokens: 1_500, costUsd: 0.25 } });
      await finished(spine, await create(spine));
      await failed(spine, await create(spine), false);
      await failed(spine, await create(spine, { maxAttempts: 1 }));
      await failed(spine, await create(spine, { retry: { mode: 'lineage', max: 1 } }));
      await settleAll(spine);
      await spine.store.transaction(0, async (tx) => {
        const what = { purpose: 'advice', subject: 'f', model: 'm', tookMs: 1, error: null } as const;
        const call = { ...what, at: spine.engine.now(), inputTokens: 1_200, outputTokens: 34 };
        await tx.modelCalls.add([call, call]);
      });
      await spine.clock.advance(21 * HOUR_MS);
      await create(spine);
      await untilEight(spine);
      assert.equal(await sendDigest(core, EIGHT), true);
      assert.equal(await sendDigest(core, EIGHT), false);
      const date = new Date(spine.engine.now() - 24 * HOUR_MS).toISOString().slice(0, 10);
      assert.deepEqual(await told(spine), [
        [
          `Digest of ${date}`,
          'Done: 2',
          'Failed: 3',
          'Retried: 1',
          'Exhausted: 1',
          'Cost: $0.25, 1,500 tokens',
          'Advice: 2 questions, 2,468 tokens',
          'Oldest waiting: #6, for 24 h',
        ].join('\n'),
      ]);
      await finished(spine, await create(spine));
      await untilEight(spine);
      await sendDigest(core, EIGHT);
      assert.match((await told(spine))[1] ?? '', /Done: 1\nFailed: 0\nRetried: 0/);
    },
    OPTIONS,
  );

  each(
    'after a restart the last one is made up for, up to twelve hours late, and those before it are not [TQ-47]',
    async (spine) => {
      await untilEight(spine);
      await sendDigest(spine.engine.core, EIGHT);
      for (let day = 0; day < 3; day++) await untilEight(spine);
      await spine.clock.advance(11 * HOUR_MS);
      assert.equal(await sendDigest(spine.engine.core, EIGHT), true);
      assert.equal((await told(spine)).length, 1);
      for (let day = 0; day < 3; day++) await untilEight(spine);
      await spine.clock.advance(13 * HOUR_MS);
      assert.equal(await sendDigest(spine.engine.core, EIGHT), false);
      await untilEight(spine);
      assert.equal(await sendDigest(spine.engine.core, EIGHT), true);
    },
    OPTIONS,
  );
});

onEvery([POSTGRES], (each) => {
  each(
    'of several servers one tells it [TQ-47]',
    async (spine) => {
      await using other = (await spine.another?.(OPTIONS)) as Opened;
      await untilEight(spine);
      await sendDigest(spine.engine.core, EIGHT);
      await untilEight(spine);
      await other.clock.advance(spine.clock.now() - other.clock.now());
      const sent = await Promise.all([
        sendDigest(spine.engine.core, EIGHT),
        sendDigest(other.engine.core, EIGHT),
      ]);
      assert.deepEqual(sent.toSorted(), [false, true]);
      assert.equal((await told(spine)).length, 1);
    },
    OPTIONS,
  );
});
