import assert from 'node:assert/strict';
import type { Actor } from '../../src/domain/command.ts';
import { LIMITS } from '../../src/domain/limits.ts';
import type { RunPlan } from '../../src/domain/schedule.ts';
import { DIALECTS, HEAD, onEvery, type Opened, refused, worker } from '../support/engines.ts';
import { doNext, pass, plan, pump, runNow, runsOf, statuses, take } from '../support/scheduling.ts';

async function approve(spine: Opened, { id }: { id: string }): Promise<void> {
  await spine.engine.approvals.resolveOf(HEAD, id, { agree: true, notes: null, by: 'operator' });
  await pump(spine);
}

onEvery(DIALECTS, (each) => {
  const running = async (
    spine: Parameters<Parameters<typeof each>[1]>[0],
    draft: Record<string, unknown> = {},
  ) => {
    const parent = await plan(spine, { name: 'research', target: 'parents', ...draft });
    await runNow(spine, parent);
    if (parent.spec.approvalRequired) await approve(spine, parent);
    const held = await take(spine, ['parents']);
    assert.ok(held);
    const run: Actor = { ...worker('w'), role: 'run', onlyJob: held.job.id };
    const ask = async (body: unknown) => {
      const { id } = await spine.engine.messages.send(run, { kind: 'spawn', body });
      await pump(spine);
      return spine.engine.messages.get(HEAD, id);
    };
    return { parent, held, run, ask };
  };
  const children = async (spine: Parameters<Parameters<typeof each>[1]>[0], parentId: string) =>
    (await spine.engine.schedules.list({ afterNo: 0, limit: 1_000 })).filter(
      ({ spec }) => spec.parentId === parentId,
    );

  const planOf = (claimed: Awaited<ReturnType<typeof take>>) =>
    JSON.parse(claimed?.input?.meta ?? '{}') as RunPlan;

  each(
    'a running job asks for a child by message: it is made below it, runs at once, and goes after it succeeded [SC-12 SC-51]',
    async (spine) => {
      const { parent, ask } = await running(spine);
      const message = await ask({ name: 'follow up', payload_message: 'look closer' });
      assert.deepEqual([message.status, message.error], ['delivered', null]);
      const [child, ...others] = await children(spine, parent.id);
      assert.deepEqual(others, []);
      assert.ok(child);
      assert.equal(child.spec.deleteAfterRun, true);
      assert.deepEqual(await statuses(spine, child), ['pending']);
      const done = await take(spine, ['parents']);
      assert.ok(done);
      assert.equal(planOf(done).schedule.isSpawned, true, 'a run wrote its name');
      await spine.engine.leases.complete(worker('w'), done.job.id, done.job.leaseToken, 'ok');
      await pump(spine);
      assert.deepEqual(await statuses(spine, child), ['ok']);
      assert.deepEqual(await children(spine, parent.id), []);
    },
  );

  each('whoever follows a job that a run asked for is told whose word its name is', async (spine) => {
    const { parent, ask } = await running(spine);
    await ask({ name: 'follow up', payload_message: 'look closer' });
    const [child] = await children(spine, parent.id);
    await plan(spine, { name: 'watch', target: 'below', parent_id: child?.id });
    const done = await take(spine, ['parents']);
    assert.ok(done);
    await spine.engine.leases.complete(worker('w'), done.job.id, done.job.leaseToken, 'ok');
    await pump(spine);
    const next = planOf(await take(spine, ['below']));
    assert.deepEqual([next.trigger?.scheduleName, next.trigger?.isSpawned], ['follow up', true]);
    assert.deepEqual([next.schedule.name, next.schedule.isSpawned], ['watch', undefined]);
  });

  each('what cannot be made is a failed message that says why, never silence', async (spine) => {
    const { parent, ask } = await running(spine);
    for (const [body, why] of [
      ['not json', /JSON object/],
      [[], /JSON object/],
      [{ name: 'x', payload_message: 'y', session_target: 'shell' }, /shell/],
      [{ name: 'x', payload_message: 'y', target: 'somebody-else' }, /target/],
      [{ name: 'x', payload_message: 'y', agent_id: 'root' }, /agent/],
      [{ name: 'x', payload_message: 'y', colour: 'red' }, /colour/],
    ] as const) {
      const message = await ask(body);
      assert.equal(message.status, 'failed', JSON.stringify(body));
      assert.match(message.error ?? '', why);
    }
    assert.deepEqual(await children(spine, parent.id), []);
  });

  each('one child per message, however often it is looked at', async (spine) => {
    const { parent, run } = await running(spine);
    await spine.engine.messages.send(run, { kind: 'spawn', body: { name: 'one', payload_message: 'x' } });
    await Promise.all([pump(spine), pump(spine), pump(spine)]);
    const made = await children(spine, parent.id);
    assert.equal(made.length, 1);
    assert.equal((await runsOf(spine, made[0] ?? parent)).length, 1);
  });

  each('nobody but the running job itself, or head, may ask', async (spine) => {
    const { parent, run } = await running(spine);
    const body = { name: 'x', payload_message: 'y' };
    const stranger = { kind: 'spawn', body, scheduleId: parent.id } as const;
    assert.equal((await refused(spine.engine.messages.send(worker('other'), stranger))).code, 'forbidden');
    const other = await plan(spine, { name: 'other' });
    assert.equal(
      (await refused(spine.engine.messages.send(run, { kind: 'spawn', body, scheduleId: other.id }))).code,
      'forbidden',
    );
    await spine.engine.messages.send(HEAD, { kind: 'spawn', body: { ...body, session_target: 'queue' } });
    await pump(spine);
    assert.ok(await doNext(spine));
  });

  each('a run has no field that its schedule has not, whatever the body says', async (spine) => {
    const { parent, ask } = await running(spine, { approval_required: true, approval_timeout_s: 60 });
    for (const [field, value] of Object.entries({
      approval_required: false,
      approval_auto: 'approve',
      session_target: 'isolated',
      preferred_session_key: 'agent:main:main',
      delivery_to: '@everybody',
      payload_scope: 'global',
      schedule_cron: '* * * * *',
      resource_pool: 'gpu',
      type: 'other',
      priority: 1,
      max_retries: 1,
      delete_after_run: false,
    })) {
      const { status, error } = await ask({ name: 'x', payload_message: 'y', [field]: value });
      assert.equal(status, 'failed', field);
      assert.match(error ?? '', new RegExp(`\\b(${field}|session_target|schedule_kind)\\b`));
    }
    assert.deepEqual(await children(spine, parent.id), []);
  });

  each(
    'the child of a schedule that needs approval waits for the same, and goes when it is refused',
    async (spine) => {
      const { parent, ask } = await running(spine, {
        approval_required: true,
        approval_timeout_s: 60,
        approval_auto: 'reject',
      });
      assert.equal((await ask({ name: 'x', payload_message: 'y' })).status, 'delivered');
      const [child] = await children(spine, parent.id);
      assert.ok(child);
      assert.deepEqual(await statuses(spine, child), ['awaiting_approval']);
      await pass(spine, 60_000);
      assert.deepEqual(await statuses(spine, child), ['cancelled']);
      assert.deepEqual(await children(spine, parent.id), []);
    },
  );

  each('a spawned schedule is gone after its run failed too', async (spine) => {
    const { parent, ask } = await running(spine);
    await ask({ name: 'x', payload_message: 'y' });
    const held = await take(spine, ['parents']);
    assert.ok(held);
    await spine.engine.leases.fail(worker('w'), held.job.id, held.job.leaseToken, 'broken', true);
    await pump(spine);
    assert.deepEqual(await children(spine, parent.id), []);
  });

  each('a run that was cancelled gets nothing that it asked for just before', async (spine) => {
    const { parent, held, run } = await running(spine);
    const body = { name: 'x', payload_message: 'y' };
    const { id } = await spine.engine.messages.send(run, { kind: 'spawn', body });
    await spine.engine.jobs.cancel(HEAD, held.job.id, 'no');
    await pump(spine);
    assert.match((await spine.engine.messages.get(HEAD, id)).error ?? '', /cancelled/);
    assert.deepEqual(await children(spine, parent.id), []);
  });

  each('one run may ask only so often, and what it asked for only so deep', async (spine) => {
    const { run, ask } = await running(spine, { max_trigger_fanout: 1_000 });
    const body = { name: 'x', payload_message: 'y' };
    for (let i = 0; i < LIMITS.spawnsPerRun - 1; i++)
      await spine.engine.messages.send(run, { kind: 'spawn', body: 'not json' });
    assert.equal((await ask(body)).status, 'delivered');
    const more = spine.engine.messages.send(run, { kind: 'spawn', body });
    assert.equal((await refused(more)).code, 'too_many_children');
    let last = '';
    for (let depth = 1; depth <= LIMITS.spawnDepth; depth++) {
      const held = await take(spine, ['parents']);
      assert.ok(held);
      const child: Actor = { ...worker('w'), role: 'run', onlyJob: held.job.id };
      const { id } = await spine.engine.messages.send(child, { kind: 'spawn', body });
      await pump(spine);
      last = (await spine.engine.messages.get(HEAD, id)).error ?? 'made';
      if (depth < LIMITS.spawnDepth) assert.equal(last, 'made');
    }
    assert.match(last, /levels deep/);
  });

  each('all that the runs of one chain asked for is bounded together', async (spine) => {
    const { parent, ask } = await running(spine, { max_trigger_fanout: 1_000 });
    const asking = {
      kind: 'spawn',
      body: { name: 'x', payload_message: 'y' },
      scheduleId: parent.id,
    } as const;
    for (let i = 0; i < LIMITS.spawnedPerChain; i++) await spine.engine.messages.send(HEAD, asking);
    await pump(spine);
    assert.equal((await children(spine, parent.id)).length, LIMITS.spawnedPerChain);
    assert.match((await ask({ name: 'x', payload_message: 'y' })).error ?? '', /under way in this chain/);
  });
});
