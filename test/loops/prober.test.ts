import assert from 'node:assert/strict';
import { Prober, type AskProbe } from '../../src/loops/prober.ts';
import { until } from '../support/clock.ts';
import { claimNext, DIALECTS, HEAD, onEvery, type Opened, POSTGRES, refused } from '../support/engines.ts';
import { pass, plan, statuses } from '../support/scheduling.ts';

const URL = 'https://example.org/stale';

/** Asks what is due, and waits until all of it is answered. */
async function probe(spine: Opened, ask: AskProbe): Promise<void> {
  const prober = new Prober(spine.engine.core, ask);
  await prober.runOnce();
  await prober.rest();
}

const says =
  (verdict: 'stale' | 'fresh' | 'unsure', said = ''): AskProbe =>
  async () => ({ verdict, said });

async function missed(spine: Opened, { id }: { readonly id: string }): Promise<(string | null)[]> {
  return (await spine.engine.schedules.missed(id, 10)).map(({ fate, reason }) => `${fate}: ${reason}`);
}

onEvery(DIALECTS, (each) => {
  each(
    'stale data makes one typed task with its params; fresh data is written down as skipped [TQ-44]',
    async (spine) => {
      const draft = { every: '1h', type: 'crawl', params: { ticker: 'NVDA' }, probe: URL };
      const made = await plan(spine, draft);
      await pass(spine, 3_600_000);
      assert.deepEqual(await statuses(spine, made), [], 'nothing is made before it was asked');
      const asked: unknown[] = [];
      await probe(spine, async (...call) => {
        asked.push(call.slice(0, 2));
        return { verdict: 'stale', said: '9 days old' };
      });
      assert.deepEqual(asked, [[URL, 30_000]]);
      const [task] = await claimNext(spine);
      assert.deepEqual(JSON.parse(task?.input?.params ?? ''), { ticker: 'NVDA' });
      const [created] = await spine.engine.jobs.events(HEAD, task?.job.id ?? '', 0, 1);
      assert.equal(created?.facts?.['probe'], 'its probe found work: 9 days old');
      await pass(spine, 3_600_000);
      await probe(spine, says('fresh', 'an hour old'));
      await probe(spine, says('stale'));
      assert.deepEqual(await statuses(spine, made), ['running'], 'a tick is asked about once');
      assert.deepEqual(await missed(spine, made), ['skipped: its probe found nothing to do: an hour old']);
    },
  );

  each(
    'a probe that fails hides no work, and one that is slow holds up no other tick [TQ-44]',
    async (spine) => {
      const slow = await plan(spine, { name: 'slow', every: '1h', probe: URL });
      const broken = await plan(spine, { name: 'broken', every: '1h', probe: 'https://example.org/broken' });
      const plain = await plan(spine, { name: 'plain', every: '1h' });
      await pass(spine, 3_600_000);
      const { promise: gate, resolve: open } = Promise.withResolvers<void>();
      const prober = new Prober(spine.engine.core, async (text) => {
        if (text === URL) await gate;
        return { verdict: 'unsure', said: 'it answered 500' };
      });
      await prober.runOnce();
      await until('the broken one is made', async () => (await statuses(spine, broken)).length === 1);
      assert.deepEqual(await statuses(spine, plain), ['pending']);
      assert.deepEqual(await statuses(spine, slow), []);
      open();
      await prober.rest();
      assert.deepEqual(await statuses(spine, slow), ['pending']);
    },
  );

  each('what was under way when a server stopped is asked again, and made once [TQ-44]', async (spine) => {
    const made = await plan(spine, { every: '1h', probe: URL });
    await pass(spine, 3_600_000);
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const stopping = new Prober(spine.engine.core, async () => {
      await gate;
      return { verdict: 'stale', said: '' };
    });
    await stopping.runOnce();
    stopping.callOff();
    open();
    await stopping.rest();
    await probe(spine, says('stale'));
    await probe(spine, says('stale'));
    assert.deepEqual(await statuses(spine, made), ['pending'], 'at once, and not a second time');
  });

  each(
    'what a server asked that died is asked again when its probe must have ended [TQ-44]',
    async (spine) => {
      const made = await plan(spine, { every: '1h', probe: URL, probe_timeout_s: 20 });
      await pass(spine, 3_600_000);
      const dead = new Prober(spine.engine.core, () => new Promise(() => undefined));
      await dead.runOnce();
      await probe(spine, says('stale'));
      assert.deepEqual(await statuses(spine, made), [], 'it may still come to an answer');
      await spine.clock.advance(36_000);
      await probe(spine, says('stale'));
      assert.deepEqual(await statuses(spine, made), ['pending']);
    },
  );

  each('an answer that could not be written down is asked for anew [TQ-44]', async (spine) => {
    const made = await plan(spine, { every: '1h', probe: URL });
    await pass(spine, 3_600_000);
    await probe(spine, async () => {
      throw new Error('the probe broke');
    });
    await probe(spine, says('stale'));
    assert.deepEqual(await statuses(spine, made), ['pending']);
  });

  each('twenty probes that hang hold up the others for a moment only [TQ-44]', async (spine) => {
    const hanging = 'https://example.org/hangs';
    for (let i = 0; i < 20; i++) await plan(spine, { name: `hangs-${i}`, every: '1h', probe: hanging });
    const well = await plan(spine, { name: 'well', every: '61m', probe: URL });
    await pass(spine, 3_600_000);
    const prober = new Prober(spine.engine.core, (text) =>
      text === hanging ? new Promise(() => undefined) : Promise.resolve({ verdict: 'stale', said: '' }),
    );
    for (let i = 0; i < 3; i++) {
      await prober.runOnce();
      await pass(spine, 40_000);
    }
    await until('the other one is made', async () => {
      await prober.runOnce();
      return (await statuses(spine, well)).length === 1;
    });
  });

  each('of one schedule one probe is under way, however many ticks wait for it [TQ-44]', async (spine) => {
    const made = await plan(spine, { every: '1m', probe: URL, probe_timeout_s: 300 });
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    let asked = 0;
    const prober = new Prober(spine.engine.core, async () => {
      asked += 1;
      await gate;
      return { verdict: 'stale', said: '' };
    });
    for (let i = 0; i < 4; i++) {
      await pass(spine, 60_000);
      await prober.runOnce();
    }
    assert.equal(asked, 1);
    open();
    await prober.rest();
    assert.equal((await statuses(spine, made)).length, 1);
    await spine.clock.advance(6_000);
    await probe(spine, says('stale'));
    assert.ok((await statuses(spine, made)).length >= 2);
  });

  each('a schedule that is switched off or gone meanwhile makes nothing [TQ-44]', async (spine) => {
    const off = await plan(spine, { name: 'off', every: '1h', probe: URL });
    const gone = await plan(spine, { name: 'gone', every: '1h', probe: URL });
    await pass(spine, 3_600_000);
    await spine.engine.schedules.enable(HEAD, off.id, false);
    await spine.engine.schedules.remove(HEAD, gone.id);
    await probe(spine, says('stale'));
    assert.deepEqual(await statuses(spine, off), []);
    assert.equal((await claimNext(spine)).length, 0);
  });

  each(
    'a probe goes with the queue; commands only where they are allowed, and no inner address [TQ-44]',
    async (spine) => {
      const problem = async (draft: Record<string, unknown>): Promise<unknown> =>
        (await refused(plan(spine, { every: '1h', ...draft }))).details['problem'];
      assert.match(String(await problem({ probe: 'test -e /tmp/stale' })), /commands are switched off/);
      assert.match(String(await problem({ probe: 'http://127.0.0.1/' })), /^probe /);
      assert.match(
        String(await problem({ probe: URL, session_target: 'isolated', payload_message: 'x' })),
        /probe goes with session_target queue/,
      );
      assert.match(String(await problem({ probe: URL, probe_timeout_s: 301 })), /probe_timeout_s/);
    },
  );
});

onEvery([POSTGRES], (each) => {
  each('of two servers one asks, and one task is made [TQ-44]', async (spine) => {
    await using other = (await spine.another?.()) as Opened;
    const made = await plan(spine, { every: '1h', probe: URL });
    await pass(spine, 3_600_000);
    await other.clock.advance(spine.clock.now() - other.clock.now());
    let asked = 0;
    const ask: AskProbe = async () => {
      asked += 1;
      return { verdict: 'stale', said: '' };
    };
    await Promise.all([probe(spine, ask), probe(other, ask)]);
    assert.deepEqual([asked, await statuses(spine, made)], [1, ['pending']]);
  });
});
