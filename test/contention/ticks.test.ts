import assert from 'node:assert/strict';
import { fireDue } from '../../src/engine/due-schedules.ts';
import { settler } from '../../src/loops/settler.ts';
import { HEAD, onEvery, type Opened, POSTGRES, worker } from '../support/engines.ts';
import { plan, runsOf, statuses } from '../support/scheduling.ts';

onEvery([POSTGRES], (each) => {
  const three = async (spine: Opened): Promise<Opened[]> => {
    const others = await Promise.all([spine.another?.(), spine.another?.()]);
    return [spine, ...others.flatMap((other) => other ?? [])];
  };

  each(
    'three servers look at the clock at the same moment, and every tick fires once [SC-04]',
    async (spine) => {
      const servers = await three(spine);
      const schedules = await Promise.all(
        Array.from({ length: 40 }, (_, i) =>
          plan(spine, { name: `s${i}`, every: '1m', overlap_policy: 'allow' }),
        ),
      );
      for (let round = 0; round < 5; round++) {
        for (const { clock } of servers) await clock.advance(60_000);
        await Promise.all(
          servers.flatMap(({ engine }) => [fireDue(engine.core, 100), fireDue(engine.core, 7)]),
        );
        while ((await fireDue(spine.engine.core, 100)) > 0);
      }
      for (const made of schedules) {
        const due = (await runsOf(spine, made)).map(({ run }) => run.dueAt);
        assert.equal(new Set(due).size, due.length, 'a tick fired twice');
        assert.equal(due.length, 5);
      }
      for (const other of servers.slice(1)) await other.close();
    },
  );

  each('three servers react to the same end at once, and each child fires once [SC-13]', async (spine) => {
    const servers = await three(spine);
    const parent = await plan(spine, { name: 'parent', overlap_policy: 'allow' });
    const children = await Promise.all(
      Array.from({ length: 5 }, (_, i) =>
        plan(spine, {
          name: `child ${i}`,
          parent_id: parent.id,
          target: 'children',
          overlap_policy: 'allow',
        }),
      ),
    );
    for (let run = 0; run < 10; run++) await spine.engine.schedules.run(HEAD, parent.id);
    const claimed = await spine.engine.leases.claimNext(worker('w'), {
      targets: ['any'],
      max: 10,
      waitMs: 0,
    });
    await Promise.all(
      claimed.map(({ job }) => spine.engine.leases.complete(worker('w'), job.id, job.leaseToken, 'ok')),
    );
    await Promise.all(servers.map(({ engine }) => settler(engine.core).runOnce()));
    for (const child of children) assert.equal((await statuses(spine, child)).length, 10);
    for (const other of servers.slice(1)) await other.close();
  });
});
