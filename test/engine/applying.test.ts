import assert from 'node:assert/strict';
import type { ApplyOptions, KeptSchedules } from '../../src/engine/engine.ts';
import { SpineError } from '../../src/domain/error.ts';
import { DIALECTS, HEAD, onEvery, type Opened, refused } from '../support/engines.ts';
import { doNext, pass, plan, pump, runNow, schedule, statuses } from '../support/scheduling.ts';

const NIGHT = { name: 'night', schedule: '0 2 * * *', session_target: 'queue' };
const SEND = { name: 'send', parent: 'night', trigger_on: 'success', session_target: 'queue' };

async function apply(
  { engine }: Pick<Opened, 'engine'>,
  schedules: KeptSchedules['schedules'],
  options: Partial<ApplyOptions> & Partial<Pick<KeptSchedules, 'types' | 'pools'>> = {},
): Promise<string[]> {
  const { types = [], pools = [], ...rest } = options;
  const applied = await engine.schedules.apply(
    HEAD,
    { schedules, types, pools },
    { mark: 'apply:ops', prune: false, dryRun: false, ...rest },
  );
  return applied.map(({ action, name }) => `${action} ${name}`);
}

async function names({ engine }: Pick<Opened, 'engine'>): Promise<string[]> {
  return (await engine.schedules.list({ afterNo: 0, limit: 100 })).map(({ spec }) => spec.name);
}

async function problems(work: Promise<unknown>): Promise<string[]> {
  const error = await work.then(
    () => assert.fail('nothing was refused'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof SpineError && error.code === 'bad_request', String(error));
  return (error.details['problems'] as { field: string }[]).map(({ field }) => field);
}

onEvery(DIALECTS, (each) => {
  each('a set is made with parents first, and applied again it changes nothing', async (spine) => {
    assert.deepEqual(await apply(spine, [SEND, NIGHT]), ['create night', 'create send']);
    const [night, send] = await spine.engine.schedules.list({ afterNo: 0, limit: 9 });
    assert.equal(send?.spec.parentId, night?.id);
    assert.equal(night?.spec.managedBy, 'apply:ops');
    const before = JSON.stringify(await spine.engine.schedules.list({ afterNo: 0, limit: 9 }));
    await spine.clock.advance(5_000);
    assert.deepEqual(await apply(spine, [SEND, NIGHT]), ['unchanged night', 'unchanged send']);
    assert.equal(JSON.stringify(await spine.engine.schedules.list({ afterNo: 0, limit: 9 })), before);
  });

  each(
    'what a set does not say any more has its default again, and what an operator switched off stays off',
    async (spine) => {
      await apply(spine, [{ ...NIGHT, max_retries: 3, priority: 5 }]);
      const [made] = await spine.engine.schedules.list({ afterNo: 0, limit: 9 });
      await spine.engine.schedules.enable(HEAD, made?.id ?? '', false);
      assert.deepEqual(await apply(spine, [{ ...NIGHT, priority: 6 }]), ['change night']);
      const [after] = await spine.engine.schedules.list({ afterNo: 0, limit: 9 });
      assert.deepEqual([after?.spec.maxRetries, after?.spec.priority, after?.enabled], [0, 6, false]);
    },
  );

  each('a place that nothing may be delivered to is refused in files too, and by name', async (spine) => {
    const inner = { ...NIGHT, name: 'inner', delivery_channel: 'webhook', delivery_to: 'http://0x7f.1/x' };
    const unknown = { ...NIGHT, name: 'unknown', delivery_to: '@nobody' };
    assert.deepEqual(await problems(apply(spine, [NIGHT, inner, unknown])), [
      'schedules[1].delivery_to',
      'schedules[2].delivery_to',
    ]);
    for (const draft of [inner, unknown])
      await assert.rejects(
        spine.engine.schedules.put(HEAD, draft),
        (error) => error instanceof SpineError && error.details['field'] === 'delivery_to',
      );
    await apply(spine, [NIGHT]);
    assert.deepEqual(await problems(apply(spine, [{ ...NIGHT, delivery_to: '@nobody' }])), [
      'schedules[0].delivery_to',
    ]);
    assert.deepEqual(await names(spine), ['night']);
  });

  each('when one of a set is wrong, all that is wrong is said and nothing is changed', async (spine) => {
    await apply(spine, [NIGHT]);
    const wrong = [
      { ...NIGHT, schedule: '0 3 * * *' },
      { ...NIGHT, name: 'bad', schedule: '99 * * * *' },
      { ...SEND, name: 'orphan', parent: 'nobody' },
      { ...SEND, name: 'a', parent: 'b' },
      { ...SEND, name: 'b', parent: 'a' },
      { ...NIGHT, name: 'new' },
      { ...NIGHT, name: 'new' },
      { ...NIGHT, name: 'soon', schedule: undefined, in: '5m' },
      { ...SEND, name: 'odd', parent: 7 },
    ];
    const found = await problems(apply(spine, wrong, { pools: [{ name: 'gpu', capacity: 2, perKey: 1 }] }));
    assert.deepEqual(found.toSorted(), [
      'schedules[1].schedule_cron',
      'schedules[2].parent',
      'schedules[3].parent',
      'schedules[4].parent',
      'schedules[6].name',
      'schedules[7].in',
      'schedules[8].parent',
    ]);
    assert.deepEqual(await names(spine), ['night']);
    assert.equal(
      (await spine.engine.schedules.list({ afterNo: 0, limit: 1 }))[0]?.spec.scheduleCron,
      '0 2 * * *',
    );
    assert.deepEqual(await spine.engine.pools.list(), []);
  });

  each('a dry run tells what would happen, and changes nothing', async (spine) => {
    await apply(spine, [NIGHT, SEND]);
    const told = await apply(
      spine,
      [
        { ...NIGHT, schedule: '0 3 * * *' },
        { ...NIGHT, name: 'new' },
      ],
      {
        dryRun: true,
        prune: true,
      },
    );
    assert.deepEqual(told, ['change night', 'create new', 'prune send']);
    assert.deepEqual(await names(spine), ['night', 'send']);
    assert.equal(
      (await spine.engine.schedules.list({ afterNo: 0, limit: 1 }))[0]?.spec.scheduleCron,
      '0 2 * * *',
    );
  });

  each('pruning deletes what the set made and no longer holds, and nothing else', async (spine) => {
    const mine = await plan(spine, { name: 'mine', every: '1h' });
    await apply(spine, [{ ...NIGHT, name: 'other' }], { mark: 'apply:other' });
    await apply(spine, [NIGHT, SEND, { ...NIGHT, name: 'mine' }]);
    assert.equal((await schedule(spine, mine)).spec.managedBy, null);
    assert.deepEqual(await apply(spine, [SEND, NIGHT].slice(1)), ['unchanged night', 'extra send']);
    assert.deepEqual(await apply(spine, [], { prune: true }), ['prune night', 'prune send']);
    assert.deepEqual((await names(spine)).toSorted(), ['mine', 'other']);
  });

  each('a schedule with a stranger below it is not pruned', async (spine) => {
    await apply(spine, [NIGHT]);
    const [night] = await spine.engine.schedules.list({ afterNo: 0, limit: 1 });
    await plan(spine, { name: 'below', parent_id: night?.id });
    assert.deepEqual(await problems(apply(spine, [], { prune: true })), ['prune']);
    assert.deepEqual(await names(spine), ['night', 'below']);
  });

  each('a schedule that another set keeps, and a name that several have, are refused', async (spine) => {
    await apply(spine, [NIGHT]);
    assert.deepEqual(await problems(apply(spine, [NIGHT], { mark: 'apply:other' })), ['schedules[0].name']);
    await plan(spine, { name: 'twin', every: '1h' });
    await plan(spine, { name: 'twin', every: '1h' });
    assert.deepEqual(await problems(apply(spine, [{ ...NIGHT, name: 'twin' }])), ['schedules[0].name']);
  });

  each(
    'types and pools of a set are made and changed with it, and a schema that is none refuses all',
    async (spine) => {
      const types = [{ name: 'digest', label: 'Digest', sop: 'Read', paramsSchema: { type: 'object' } }];
      const pools = [{ name: 'gpu', capacity: 2, perKey: 1 }];
      assert.deepEqual(await apply(spine, [], { types, pools }), ['create digest', 'create gpu']);
      assert.deepEqual(await apply(spine, [], { types, pools }), ['unchanged digest', 'unchanged gpu']);
      const more = [{ name: 'gpu', capacity: 3, perKey: 1 }];
      assert.deepEqual(await apply(spine, [], { types, pools: more }), ['unchanged digest', 'change gpu']);
      const bad = [{ name: 'bad', paramsSchema: { type: 'nonsense' } }];
      assert.deepEqual(await problems(apply(spine, [NIGHT], { types: bad })), ['types[0].paramsSchema']);
      assert.deepEqual(await names(spine), []);
    },
  );

  each('two who put the same name at once make one schedule', async (spine) => {
    const { schedules } = spine.engine;
    const made = await Promise.all(
      Array.from({ length: 8 }, (_, i) => schedules.put(HEAD, { ...NIGHT, priority: i % 2 })),
    );
    assert.equal(made.filter(({ action }) => action === 'create').length, 1);
    assert.deepEqual(await names(spine), ['night']);
    assert.equal((await refused(schedules.put(HEAD, { name: 'night', schedule: 'x' }))).code, 'bad_request');
  });

  each(
    'a schedule runs by itself as often as it may, and is switched off; runs by hand do not count',
    async (spine) => {
      const made = await plan(spine, { every: '1m', max_runs: 2 });
      await runNow(spine, made);
      await doNext(spine);
      for (let i = 0; i < 4; i++) {
        await pass(spine, 60_000);
        await doNext(spine);
      }
      assert.deepEqual(await statuses(spine, made), ['ok', 'ok', 'ok']);
      const after = await schedule(spine, made);
      assert.deepEqual([after.enabled, after.nextRunAt, after.runCount], [false, null, 2]);
      assert.equal((await refused(spine.engine.schedules.enable(HEAD, made.id, true))).code, 'conflict');
      const revived = await spine.engine.schedules.update(HEAD, made.id, { max_runs: 3 });
      assert.equal(revived.enabled, true);
      await pass(spine, 60_000);
      assert.deepEqual((await statuses(spine, made)).slice(3), ['pending']);
    },
  );

  each('missed ticks are made up for no oftener than the schedule may run', async (spine) => {
    const made = await plan(spine, { every: '1m', max_runs: 3, catch_up: 'all', overlap_policy: 'allow' });
    await pass(spine, 10 * 60_000);
    assert.equal((await statuses(spine, made)).length, 3);
    assert.equal((await schedule(spine, made)).enabled, false);
  });

  each('a child that may run once runs once', async (spine) => {
    const parent = await plan(spine);
    const child = await plan(spine, { parent_id: parent.id, max_runs: 1 });
    for (let i = 0; i < 2; i++) {
      await runNow(spine, parent);
      await doNext(spine);
      await doNext(spine);
      await pump(spine);
    }
    assert.deepEqual(await statuses(spine, child), ['ok']);
    assert.equal((await schedule(spine, child)).enabled, false);
  });

  each('after its end a schedule fires no more and is switched off', async (spine) => {
    const until = spine.engine.now() + 150_000;
    const made = await plan(spine, { every: '1m', until });
    await pass(spine, 300_000, 60_000);
    assert.deepEqual((await statuses(spine, made)).filter((status) => status !== 'skipped').length, 1);
    assert.equal((await statuses(spine, made)).length, 2);
    const after = await schedule(spine, made);
    assert.deepEqual([after.enabled, after.nextRunAt], [false, null]);
    assert.equal((await refused(spine.engine.schedules.enable(HEAD, made.id, true))).code, 'conflict');
  });
});
