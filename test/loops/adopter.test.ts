import assert from 'node:assert/strict';
import type { Job } from '../../src/domain/job.ts';
import { claimName } from '../../src/engine/server-name.ts';
import { Adopter } from '../../src/loops/adopter.ts';
import { Reaper } from '../../src/loops/reaper.ts';
import { create, onEvery, type Opened, POSTGRES, read, stateOf, SYSTEM, worker } from '../support/engines.ts';

/** As the workers inside a server claim. */
async function runs(spine: Opened, target: string): Promise<Job> {
  await create(spine, { target });
  const { core } = spine.engine;
  const claimId = claimName(core.server, core.ids.jobId(core.now()));
  const wanted = { targets: [target], max: 1, waitMs: 0, leaseMs: 30_000, policy: 'adopt', claimId } as const;
  const [held] = await spine.engine.leases.claimNext(worker('gateway-worker'), wanted);
  return held?.job as Job;
}

async function beat(spine: Opened): Promise<void> {
  await new Reaper(spine.engine.core, 1_000).pulse().runOnce();
}

async function another(spine: Opened, server: string): Promise<Opened> {
  return (await spine.another?.({ server })) as Opened;
}

onEvery([POSTGRES], (each) => {
  each(
    'takes over what the server held that stood in its place, as soon as that is silent',
    async (spine) => {
      const job = await runs(spine, 'shell');
      await beat(spine);
      await using next = await another(spine, 'here:1');
      const adopter = new Adopter(next.engine.core);
      await adopter.runOnce();
      assert.equal(await stateOf(next, job), 'running', 'its last beat is too young');
      await next.clock.advance(2_600);
      assert.equal((await adopter.runOnce()).done, 1);
      assert.equal(await stateOf(next, job), 'queued');
    },
    { server: 'here:1' },
  );

  each(
    'takes over at once what was held before a downtime, however long that was',
    async (spine) => {
      const job = await runs(spine, 'gateway:main');
      await beat(spine);
      await using next = await another(spine, 'here:1');
      await next.clock.advance(20_000);
      assert.equal((await new Adopter(next.engine.core).runOnce()).done, 1);
      assert.equal(await stateOf(next, job), 'queued');
    },
    { server: 'here:1' },
  );

  each(
    'takes over the turns of another server ten seconds after its last beat, and leaves it its commands',
    async (spine) => {
      const turn = await runs(spine, 'gateway:main');
      const command = await runs(spine, 'shell');
      await beat(spine);
      await using other = await another(spine, 'there:1');
      const adopter = new Adopter(other.engine.core);
      for (let second = 0; second < 9; second++) {
        await adopter.runOnce();
        await other.clock.advance(1_000);
      }
      assert.deepEqual([await stateOf(other, turn), await stateOf(other, command)], ['running', 'running']);
      for (let second = 0; second < 2; second++) {
        await other.clock.advance(1_000);
        await adopter.runOnce();
      }
      assert.deepEqual([await stateOf(other, turn), await stateOf(other, command)], ['queued', 'running']);
    },
    { server: 'here:1' },
  );

  each(
    'leaves others their turns until they had the time to beat after the database was away',
    async (spine) => {
      const turn = await runs(spine, 'gateway:main');
      await beat(spine);
      await using other = await another(spine, 'there:1');
      const adopter = new Adopter(other.engine.core);
      await adopter.runOnce();
      // Nobody could beat, and nobody could look.
      await Promise.all([spine.clock.advance(15_000), other.clock.advance(15_000)]);
      await adopter.runOnce();
      await beat(spine);
      for (let second = 0; second < 8; second++) {
        await other.clock.advance(1_000);
        await adopter.runOnce();
      }
      assert.equal(await stateOf(other, turn), 'running');
    },
    { server: 'here:1' },
  );

  each('leaves alone a lease that was given out since it was judged', async (spine) => {
    const job = await runs(spine, 'gateway:main');
    const orphan = { kind: 'expire', id: job.id, actor: SYSTEM, orphaned: true } as const;
    await spine.engine.core.perform({ ...orphan, leaseToken: 'of another lease' });
    assert.equal((await read(spine, job)).leaseToken, job.leaseToken);
    await spine.engine.core.perform({ ...orphan, leaseToken: job.leaseToken ?? '' });
    assert.equal(await stateOf(spine, job), 'queued');
  });
});
