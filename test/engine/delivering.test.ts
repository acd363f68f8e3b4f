import assert from 'node:assert/strict';
import { subscriptionWatch } from '../../src/loops/subscription-watch.ts';
import { alias, deliveries } from '../support/delivering.ts';
import {
  claimed,
  claimNext,
  create,
  DIALECTS,
  failed,
  finished,
  HEAD,
  onEvery,
  type Opened,
  refused,
  settleAll,
  worker,
} from '../support/engines.ts';
import { doNext, failNext, pass, plan, runNow } from '../support/scheduling.ts';

async function texts(spine: Opened): Promise<(string | null)[]> {
  return (await deliveries(spine)).map(({ text }) => text);
}

onEvery(DIALECTS, (each) => {
  each(
    'a schedule with an alias that is not there is refused; so is a change to one [SC-50]',
    async (spine) => {
      for (const to of ['@nobody', 'nobody']) {
        const error = await refused(plan(spine, { delivery_to: to }));
        assert.deepEqual([error.code, error.details['field']], ['bad_request', 'delivery_to']);
        assert.match(String(error.details['problem']), /@nobody, which does not exist/);
      }
      const made = await plan(spine);
      await refused(spine.engine.schedules.update(HEAD, made.id, { delivery_to: '@nobody' }));
      await alias(spine);
      await spine.engine.schedules.update(HEAD, made.id, { delivery_to: '@ops' });
      await spine.engine.aliases.remove(HEAD, 'ops');
      await spine.engine.schedules.update(HEAD, made.id, { name: 'still may be renamed' });
    },
  );

  each('a place that cannot be is refused, and the field is named', async (spine) => {
    const problems = [
      [{ delivery_channel: 'webhook', delivery_to: 'http://0x7f.1/' }, 'delivery_to'],
      [{ delivery_to: 'https://[::ffff:7f00:1]/' }, 'delivery_to'],
      [{ delivery_channel: 'Tele gram', delivery_to: '1' }, 'delivery_channel'],
      [{ delivery_channel: 'telegram' }, 'delivery_to'],
      [{ delivery_to: 'gateway:moon/telegram:1' }, 'delivery_to'],
    ] as const;
    for (const [draft, field] of problems) {
      const error = await refused(plan(spine, draft));
      assert.deepEqual([error.code, error.details['field']], ['bad_request', field], JSON.stringify(draft));
    }
    const inner = await refused(alias(spine, 'meta', 'http://169.254.169.254/latest', 'webhook'));
    assert.deepEqual([inner.code, inner.details['field']], ['bad_request', 'target']);
  });

  each('an alias that is gone when a run ends makes a failed delivery, not a silent one', async (spine) => {
    await alias(spine);
    const made = await plan(spine, { delivery_to: '@ops' });
    await spine.engine.aliases.remove(HEAD, 'ops');
    await runNow(spine, made);
    await doNext(spine, { text: 'hello' });
    const [delivery] = await deliveries(spine);
    assert.deepEqual(
      [delivery?.status, delivery?.error, delivery?.text],
      ['failed', 'there is no alias @ops', 'hello'],
    );
    await refused(spine.engine.deliveries.retry(HEAD, delivery?.id ?? ''));
    await alias(spine, 'ops', '9');
    const again = await spine.engine.deliveries.retry(HEAD, delivery?.id ?? '');
    assert.deepEqual([again.status, again.channel, again.target], ['pending', 'telegram', '9']);
  });

  each('a run tells its end once it is settled: not before the last retry [SC-50]', async (spine) => {
    await alias(spine);
    await runNow(spine, await plan(spine, { delivery_to: '@ops', max_retries: 1 }));
    await failNext(spine, 'no disk');
    assert.deepEqual(await texts(spine), []);
    await pass(spine, 31_000);
    await failNext(spine, 'no disk', 'timeout');
    assert.deepEqual(await texts(spine), ['[timeout] Job timed out: nightly\n\nno disk']);
    const [delivery] = await deliveries(spine);
    assert.equal(delivery?.kind, 'failure');
  });

  each('sentinels are silent unless everything is announced [SC-29]', async (spine) => {
    await alias(spine);
    const made = await plan(spine, { delivery_to: 'ops', job_class: 'standard' });
    for (const text of ['HEARTBEAT_OK', 'NO_FLUSH', 'NO_FLUSH ', 'NO_FLUSH but']) {
      await runNow(spine, made);
      await doNext(spine, { text });
    }
    assert.deepEqual(await texts(spine), ['NO_FLUSH but']);
    await spine.engine.schedules.update(HEAD, made.id, { delivery_mode: 'announce-always' });
    await runNow(spine, made);
    await doNext(spine, { text: 'HEARTBEAT_OK' });
    await spine.engine.schedules.update(HEAD, made.id, { delivery_mode: 'none' });
    await runNow(spine, made);
    await doNext(spine, { text: 'nobody hears this' });
    assert.deepEqual(await texts(spine), ['NO_FLUSH but', 'HEARTBEAT_OK']);
  });

  each(
    'an approval is asked for where the schedule delivers, and at its subscribers [SC-54]',
    async (spine) => {
      await alias(spine);
      await alias(spine, 'boss', '2');
      await spine.engine.subscriptions.add(HEAD, { alias: 'boss', events: ['approval'] });
      await spine.engine.subscriptions.add(HEAD, { alias: 'ops', events: ['approval'] });
      const made = await plan(spine, { name: 'deploy-prod', delivery_to: '@ops', approval_required: true });
      const job = await runNow(spine, made);
      const found = await deliveries(spine);
      assert.deepEqual(
        found.map(({ alias: name, kind }) => [name, kind]),
        [
          ['ops', 'approval'],
          ['boss', 'approval'],
        ],
        'each is asked once',
      );
      assert.match(
        found[0]?.text ?? '',
        /^⚠️ Job 'deploy-prod' requires approval\.\nApprove: spine approvals approve /,
      );
      assert.ok(found[0]?.text?.includes(job.id));
      await alias(spine, 'night', '3');
      await runNow(
        spine,
        await plan(spine, { name: 'other', delivery_to: '@night', approval_required: true }),
      );
      const asked = (await deliveries(spine)).slice(found.length).map(({ alias: name }) => name);
      assert.deepEqual(
        new Set(asked),
        new Set(['boss', 'night', 'ops']),
        'where it delivers, without a subscription',
      );
    },
  );

  each(
    'subscribers hear of the events of their jobs, types, targets and schedules, and of no others',
    async (spine) => {
      const { subscriptions } = spine.engine;
      for (const name of ['type', 'target', 'job', 'schedule', 'all']) await alias(spine, name, name);
      const made = await plan(spine);
      const one = await create(spine, { title: 'One', target: 'left' });
      await subscriptions.add(HEAD, { alias: 'type', events: ['done'], type: 'digest' });
      await subscriptions.add(HEAD, { alias: 'target', events: ['dead', 'failed'], target: 'left' });
      await subscriptions.add(HEAD, { alias: 'job', events: ['done', 'cancelled'], jobId: one.id });
      await subscriptions.add(HEAD, { alias: 'schedule', events: ['done'], scheduleId: made.id });
      await subscriptions.add(HEAD, { alias: 'all', events: ['done'] });
      const heard = async (): Promise<string[]> =>
        (await deliveries(spine)).map(({ alias: name, text }) => `${name}: ${text?.split('\n')[0]}`);

      const digest = await create(spine, { title: 'Digest', type: 'digest' });
      await finished(spine, digest, 'Fine');
      assert.deepEqual(await heard(), [
        `all: ✅ Job done: Digest (#${digest.no})`,
        `type: ✅ Job done: Digest (#${digest.no})`,
      ]);
      await failed(spine, await create(spine, { title: 'Left', target: 'left' }), false, 'no');
      await failed(spine, await create(spine, { title: 'Right', target: 'right' }), false, 'no');
      await spine.engine.jobs.cancel(HEAD, one.id, 'not needed');
      await runNow(spine, made);
      await doNext(spine, { text: 'said' });
      await settleAll(spine);
      assert.deepEqual(
        (await heard()).slice(2).map((line) => line.replace(/ \(#.*/, '')),
        [
          'target: ⚠️ Job failed: Left',
          'job: Job cancelled: One',
          'all: ✅ Job done: nightly',
          'schedule: ✅ Job done: nightly',
        ],
      );
    },
  );

  each('a subscription to a schedule goes with the schedule', async (spine) => {
    await alias(spine);
    const made = await plan(spine);
    await spine.engine.subscriptions.add(HEAD, { alias: 'ops', events: ['done'], scheduleId: made.id });
    await spine.engine.subscriptions.add(HEAD, { alias: 'ops', events: ['dead'] });
    await spine.engine.schedules.remove(HEAD, made.id);
    const left = await spine.engine.subscriptions.list();
    assert.deepEqual(
      left.map(({ events }) => events),
      [['dead']],
    );
  });

  each('a subscriber hears of a failure when no retry will come any more, and once', async (spine) => {
    await alias(spine);
    await spine.engine.subscriptions.add(HEAD, { alias: 'ops', events: ['failed', 'dead'] });
    const job = await create(spine, { retry: { mode: 'lineage', max: 1, backoffMs: 1 } });
    await failed(spine, job);
    await settleAll(spine);
    assert.deepEqual(await texts(spine), []);
    await pass(spine, 1_000);
    const [retry] = await claimNext(spine);
    assert.ok(retry);
    const { id, leaseToken } = retry.job;
    await spine.engine.leases.fail(worker('w'), id, leaseToken, 'no', true);
    await settleAll(spine);
    assert.equal((await deliveries(spine)).length, 1);
  });

  each('with no subscription the end of a job reads and writes nothing more', async (spine) => {
    await finished(spine, await create(spine), 'x');
    assert.deepEqual(await deliveries(spine), []);
  });

  each('a job that is opened again and ends again is told of again', async (spine) => {
    await alias(spine);
    await spine.engine.subscriptions.add(HEAD, { alias: 'ops', events: ['failed'] });
    const job = await create(spine);
    await failed(spine, job, false);
    await spine.engine.jobs.retry(HEAD, job.id);
    const held = await claimed(spine, job);
    await spine.engine.leases.fail(worker('w'), job.id, held.leaseToken, 'no', false);
    assert.equal((await deliveries(spine)).length, 2);
  });

  each('aliases and subscriptions are bounded, and an alias that somebody hears by stays', async (spine) => {
    await alias(spine);
    const made = await spine.engine.subscriptions.add(HEAD, { alias: 'ops', events: ['done'] });
    assert.equal((await refused(spine.engine.aliases.remove(HEAD, 'ops'))).code, 'conflict');
    assert.equal(
      (await refused(spine.engine.subscriptions.add(HEAD, { alias: 'nobody', events: ['done'] }))).code,
      'bad_request',
    );
    for (let i = 1; i < 100; i++)
      await spine.engine.subscriptions.add(HEAD, { alias: 'ops', events: ['dead'] });
    assert.equal(
      (await refused(spine.engine.subscriptions.add(HEAD, { alias: 'ops', events: ['dead'] }))).code,
      'bad_request',
    );
    assert.equal((await spine.engine.subscriptions.list()).length, 100);
    await spine.engine.subscriptions.remove(HEAD, made.id);
    assert.equal((await refused(spine.engine.subscriptions.remove(HEAD, made.id))).code, 'not_found');
  });

  each('another server learns of a subscription', async (spine) => {
    if (spine.another === null) return;
    await using second = await spine.another();
    const watch = subscriptionWatch(second.engine.core);
    await finished(second, await create(second));
    await watch.runOnce();
    await alias(spine);
    await spine.engine.subscriptions.add(HEAD, { alias: 'ops', events: ['done'] });
    await watch.runOnce();
    await finished(second, await create(second));
    assert.equal((await deliveries(spine)).length, 1);
  });
});
