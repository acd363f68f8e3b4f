import assert from 'node:assert/strict';
import type { Actor } from '../../src/domain/command.ts';
import { DIALECTS, HEAD, onEvery, refused, worker } from '../support/engines.ts';
import { doNext, plan, pump, runNow, runsOf, statuses, take } from '../support/scheduling.ts';

onEvery(DIALECTS, (each) => {
  const running = async (
    spine: Parameters<Parameters<typeof each>[1]>[0],
    draft: Record<string, unknown> = {},
  ) => {
    const parent = await plan(spine, { name: 'research', target: 'parents', ...draft });
    await runNow(spine, parent);
    const held = await take(spine, ['parents']);
    assert.ok(held);
    const run: Actor = { ...worker('w'), role: 'run', onlyJob: held.job.id };
    const ask = async (body: unknown) => {
      const { id } = await spine.engine.messages.send(run, { kind: 'spawn', body });
      await pump(spine);
      return spine.engine.messages.get(id);
    };
    return { parent, held, run, ask };
  };
  const children = async (spine: Parameters<Parameters<typeof each>[1]>[0], parentId: string) =>
    (await spine.engine.schedules.list({ afterNo: 0, limit: 100 })).filter(
      ({ spec }) => spec.parentId === parentId,
    );

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
      await spine.engine.leases.complete(worker('w'), done.job.id, done.job.leaseToken, 'ok');
      await pump(spine);
      assert.deepEqual(await statuses(spine, child), ['ok']);
      assert.deepEqual(await children(spine, parent.id), []);
    },
  );

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
    const stranger = { kind: 'spawn', body, scheduleId: parent.id };
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
});
