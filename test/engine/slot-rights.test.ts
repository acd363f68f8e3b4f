/** What one worker's heartbeats can do to the others: nothing. */

import assert from 'node:assert/strict';
import type { SlotBeat, SlotStart } from '../../src/domain/worker-slot.ts';
import { Watchdog } from '../../src/loops/watchdog.ts';
import {
  claimed,
  create,
  DIALECTS,
  HEAD,
  onEvery,
  type Opened,
  read,
  refused,
  refusal,
  stateOf,
  worker,
} from '../support/engines.ts';
import { until } from '../support/clock.ts';

const ONE = worker('one', ['slot-1', 'any']);
const TWO = worker('two', ['slot-2', 'any']);

function start(slot: string, instance: string, gone: string | null = null): SlotStart {
  return { slot, instance, gone, metadata: {} };
}

function beat(slot: string, instance: string, more: Partial<SlotBeat>): SlotBeat {
  const nothing = { jobId: null, attempt: null, title: null, sessionId: null, metadata: {} };
  return { slot, instance, status: 'working', ...nothing, ...more };
}

onEvery(DIALECTS, (each) => {
  each(
    'a heartbeat names no claim of another worker, and no task that is not seen [WK-03 WK-28]',
    async (spine) => {
      const { workers } = spine.engine;
      const theirs = await create(spine);
      const hidden = await create(spine, { target: 'slot-2' });
      await claimed(spine, theirs, TWO);
      const before = (await workers.start(ONE, start('slot-1', 'a'))).slot;
      for (const [jobId, code] of [
        [theirs.id, 'not_owner'],
        [hidden.id, 'forbidden'],
        ['nothing', 'bad_request'],
      ] as const)
        assert.equal(await refusal(workers.beat(ONE, beat('slot-1', 'a', { jobId, attempt: 1 }))), code);
      assert.deepEqual(await workers.get('slot-1'), before);
    },
  );

  each(
    'a claim that was named before it was made is not taken from whoever makes it [WK-32]',
    async (spine) => {
      const { workers } = spine.engine;
      const job = await create(spine, { leaseMs: 1_000_000 });
      await workers.start(ONE, start('slot-1', 'a'));
      await workers.beat(ONE, beat('slot-1', 'a', { jobId: job.id, attempt: 1 }));
      const theirs = await claimed(spine, job, TWO);
      assert.equal((await workers.start(ONE, start('slot-1', 'b', 'a'))).recovered, null);
      await workers.beat(ONE, beat('slot-1', 'b', { jobId: null }));
      assert.deepEqual(await read(spine, job), theirs);
    },
  );

  each('whoever takes a slot over gives back only what it may touch itself [WK-32]', async (spine) => {
    const { workers } = spine.engine;
    const job = await create(spine);
    await workers.start(ONE, start('slot-1', 'a'));
    const held = await claimed(spine, job, ONE);
    await workers.beat(ONE, beat('slot-1', 'a', { jobId: job.id, attempt: 1 }));
    const narrow = worker('narrow', ['slot-1']);
    assert.equal((await workers.start(narrow, start('slot-1', 'b', 'a'))).recovered, null);
    assert.deepEqual(await read(spine, job), held);
  });

  each('nobody beats for the process of another token [WK-28]', async (spine) => {
    const { workers } = spine.engine;
    await workers.start(ONE, start('slot-1', 'a'));
    const twin = worker('twin', ['slot-1', 'any']);
    assert.equal(await refusal(workers.beat(twin, beat('slot-1', 'a', { status: 'offline' }))), 'conflict');
    assert.equal((await workers.get('slot-1')).status, 'idle');
  });

  each('a worker sees its own slots, whoever serves everything all of them [WK-03 WK-37]', async (spine) => {
    const { workers } = spine.engine;
    for (const slot of ['slot-1', 'slot-1.2']) await workers.start(ONE, start(slot, slot));
    await workers.start(TWO, start('slot-2', 'c'));
    const seen = async (actor: Parameters<typeof workers.list>[0]) =>
      (await workers.list(actor)).map(({ slot }) => slot);
    assert.deepEqual(await seen(ONE), ['slot-1', 'slot-1.2']);
    assert.deepEqual(await seen(TWO), ['slot-2']);
    assert.deepEqual(await seen(HEAD), ['slot-1', 'slot-1.2', 'slot-2']);
    const scoped = { ...HEAD, targets: ['slot-2'] };
    assert.equal(await refusal(workers.drain(scoped, 'slot-1', true)), 'forbidden');
    assert.equal(await refusal(workers.remove(scoped, 'slot-1')), 'forbidden');
  });

  each('what a worker says of itself does not grow from heartbeat to heartbeat [WK-03]', async (spine) => {
    const { workers } = spine.engine;
    await workers.start(ONE, { ...start('slot-1', 'a'), metadata: { workerPid: 7 } });
    const said = (name: string) =>
      workers.beat(ONE, beat('slot-1', 'a', { metadata: { [name]: 'x'.repeat(3_000) } }));
    await said('one');
    const { metadata } = await said('one');
    assert.equal(await refusal(said('two')), 'bad_request');
    assert.deepEqual((await workers.get('slot-1')).metadata, metadata);
  });

  each('one token of a worker takes 200 slots and leaves the others their room [WK-40]', async (spine) => {
    const { workers } = spine.engine;
    const take = (n: number) => workers.start(ONE, start(`slot-1.${n}`, 'a'));
    for (let n = 1; n <= 200; n++) await take(n);
    const end = await refused(take(201));
    assert.equal(end.code, 'conflict');
    assert.match(String(end.details['problem']), /^one has 200 slots already/);
    await take(7);
    await workers.start(TWO, start('slot-2', 'b'));
    await workers.start(HEAD, start('slot-3', 'c'));
  });

  each('nobody is told that a session has ended which may still be at work [WK-23 WK-36]', async (spine) => {
    const { engine, clock } = spine;
    const session = await create(spine, {
      target: 'sessions',
      type: 'session',
      newType: true,
      tags: ['own'],
    });
    const runner = worker('sessions', ['sessions']);
    const { leaseToken } = await claimed(spine, session, runner);
    const asked = refused(engine.sessions.end(HEAD, 'own'));
    let isOver = false;
    void asked.then(() => (isOver = true));
    await until('it is told', async () => {
      await clock.advance(500);
      return isOver;
    });
    assert.match(String((await asked).details['problem']), /still at work 10 s later/);
    await engine.leases.release(runner, session.id, leaseToken, 'Stopped.');
    assert.equal((await engine.sessions.end(HEAD, 'own')).state, 'cancelled');
  });

  each('a worker that falls silent ends no session of another one [WK-34 WK-36]', async (spine) => {
    const { engine } = spine;
    const label = 'agent:main:worker-slot-1:x';
    const session = (title: string) =>
      create(spine, { target: 'sessions', type: 'session', newType: true, title, tags: [title] });
    const [theirs, own] = [await session('theirs'), await session(label)];
    const user = worker('user', ['sessions']);
    assert.equal(await refusal(engine.sessions.end(user, 'theirs')), 'not_owner');
    for (const sessionId of ['theirs', label]) {
      await engine.workers.start(ONE, start('slot-1', sessionId));
      await engine.workers.beat(ONE, beat('slot-1', sessionId, { sessionId }));
      await spine.clock.advance(90_001);
      assert.equal((await watchdogOf(spine).runOnce()).done, 1);
    }
    assert.deepEqual([await stateOf(spine, theirs), await stateOf(spine, own)], ['queued', 'cancelled']);
    const facts = await engine.sessions.facts(await engine.sessions.list(HEAD, null));
    assert.deepEqual(
      [...facts.values()].map((each) => [each.label, each.outcomeBytes]),
      [
        ['theirs', 0],
        [label, 0],
      ],
    );
    assert.deepEqual(await engine.sessions.outcomes([theirs]), new Map());
  });
});

function watchdogOf({ engine }: Opened): Watchdog {
  return new Watchdog({
    core: engine.core,
    everyMs: 120_000,
    absenceMs: () => 0,
    endSession: (slot) => engine.sessions.endOf(slot),
    onStale: () => undefined,
  });
}
