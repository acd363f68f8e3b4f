import assert from 'node:assert/strict';
import type { Verdict } from '../../src/engine/engine.ts';
import { DIALECTS, HEAD, create, onEvery, reasonOf, refused, stateOf } from '../support/engines.ts';
import { doNext, pass, plan, pump, runNow, statuses, take } from '../support/scheduling.ts';

const YES: Verdict = { agree: true, notes: null, by: 'operator' };
const NO: Verdict = { agree: false, notes: 'no', by: 'operator' };

onEvery(DIALECTS, (each) => {
  const needingApproval = async (
    spine: Parameters<Parameters<typeof each>[1]>[0],
    draft: Record<string, unknown> = {},
  ) => {
    const parent = await plan(spine, { name: 'build', target: 'builds' });
    const child = await plan(spine, {
      name: 'deploy',
      parent_id: parent.id,
      approval_required: true,
      ...draft,
    });
    const trigger = async () => {
      await runNow(spine, parent);
      const built = await take(spine, ['builds']);
      assert.ok(built);
      await spine.engine.leases.complete(HEAD, built.job.id, built.job.leaseToken, 'ok');
      await pump(spine);
    };
    await trigger();
    const [pending] = await spine.engine.approvals.list({ status: 'pending', limit: 10 });
    assert.ok(pending);
    return { child, pending, trigger };
  };

  each(
    'a child that needs approval waits, and runs after somebody agreed [SC-52 SC-53 SC-55]',
    async (spine) => {
      const { child, pending } = await needingApproval(spine);
      assert.deepEqual(await statuses(spine, child), ['awaiting_approval']);
      assert.equal(await take(spine), null);
      assert.equal(pending.title, 'deploy');
      const approved = await spine.engine.approvals.resolve(HEAD, pending.jobId, YES);
      assert.equal(approved.status, 'approved');
      assert.equal(approved.resolvedBy, 'operator');
      assert.ok(await doNext(spine));
      assert.deepEqual(await statuses(spine, child), ['ok']);
    },
  );

  each(
    'a refused run is cancelled with the reason; thirty refusals later somebody can still agree [SC-55 SC-58]',
    async (spine) => {
      const { child, pending, trigger } = await needingApproval(spine);
      const rejected = await spine.engine.approvals.resolve(HEAD, pending.jobId, NO);
      assert.deepEqual([rejected.status, rejected.notes], ['rejected', 'no']);
      await pump(spine);
      assert.deepEqual(await statuses(spine, child), ['cancelled']);
      for (let cycle = 2; cycle <= 31; cycle++) {
        await trigger();
        await spine.engine.approvals.resolveOf(HEAD, child.id, NO);
        await pump(spine);
      }
      assert.equal((await statuses(spine, child)).length, 31);
      await trigger();
      assert.equal((await statuses(spine, child)).at(-1), 'awaiting_approval');
    },
  );

  each('after the time is up the policy decides: reject unless said [SC-06 SC-56 SC-57]', async (spine) => {
    const { child, pending } = await needingApproval(spine);
    assert.equal(pending.expiresAt, (pending.requestedAt ?? 0) + 3_600_000);
    await pass(spine, 3_599_999);
    assert.deepEqual(await statuses(spine, child), ['awaiting_approval']);
    await pass(spine, 1);
    const after = await spine.engine.approvals.get(pending.jobId);
    assert.deepEqual([after.status, after.resolvedBy], ['timed_out', 'timeout']);
    assert.deepEqual(await statuses(spine, child), ['cancelled']);
  });

  each(
    'after the time is up an auto-approving schedule lets the run go, once [SC-57 SC-58]',
    async (spine) => {
      const { child, pending } = await needingApproval(spine, {
        approval_timeout_s: 3,
        approval_auto: 'approve',
      });
      await pass(spine, 3_000);
      const after = await spine.engine.approvals.get(pending.jobId);
      assert.deepEqual([after.status, after.resolvedBy], ['approved', 'timeout']);
      assert.ok(await doNext(spine));
      assert.equal(await take(spine), null);
      assert.deepEqual(await statuses(spine, child), ['ok']);
    },
  );

  each(
    'two approvers and the clock at the same moment: one word counts, the others are told whose [SC-58]',
    async (spine) => {
      const { child, pending } = await needingApproval(spine, {
        approval_timeout_s: 3,
        approval_auto: 'approve',
      });
      await spine.clock.advance(3_000);
      const words = await Promise.allSettled([
        spine.engine.approvals.resolve(HEAD, pending.jobId, YES),
        spine.engine.approvals.resolve(HEAD, pending.jobId, NO),
        pump(spine),
      ]);
      const losers = words.map(reasonOf).filter((reason) => reason !== null);
      assert.ok(losers.length >= 1 && losers.every(({ code }) => code === 'conflict'));
      await pump(spine);
      await doNext(spine);
      const ends = await statuses(spine, child);
      assert.equal(ends.length, 1);
      assert.ok(ends[0] === 'ok' || ends[0] === 'cancelled');
      assert.equal((await spine.engine.approvals.list({ limit: 10 })).length, 1);
    },
  );

  each(
    'what is approved is named by its hash; another hash is refused and changes nothing',
    async (spine) => {
      const { child, pending } = await needingApproval(spine);
      const other = { ...YES, hash: '0'.repeat(64) };
      assert.equal(
        (await refused(spine.engine.approvals.resolve(HEAD, pending.jobId, other))).code,
        'conflict',
      );
      assert.deepEqual(await statuses(spine, child), ['awaiting_approval']);
      await spine.engine.approvals.resolve(HEAD, pending.jobId, { ...YES, hash: pending.hash });
      assert.deepEqual(await statuses(spine, child), ['pending']);
    },
  );

  each('any job may need approval; cancelling it ends the asking', async (spine) => {
    const job = await create(spine, { approval: { timeoutS: 60 } });
    assert.equal(await stateOf(spine, job), 'awaiting_approval');
    await spine.engine.jobs.cancel(HEAD, job.id, 'changed my mind');
    const [closed] = await spine.engine.approvals.list({ limit: 10 });
    assert.deepEqual([closed?.status, closed?.notes], ['rejected', 'changed my mind']);
    assert.equal((await refused(spine.engine.approvals.resolve(HEAD, job.id, YES))).code, 'conflict');
  });

  each(
    'a run that is cancelled before it comes up for approval asks nobody, and takes nobody’s place',
    async (spine) => {
      const draft = { approval_required: true, max_pending_approvals: 1, trigger_delay_s: 60 };
      const parent = await plan(spine, { name: 'build', target: 'builds' });
      const child = await plan(spine, { name: 'deploy', parent_id: parent.id, ...draft });
      for (const end of ['cancelled', 'awaiting_approval']) {
        await runNow(spine, parent);
        const built = await take(spine, ['builds']);
        assert.ok(built);
        await spine.engine.leases.complete(HEAD, built.job.id, built.job.leaseToken, 'ok');
        await pump(spine);
        const waiting = (await spine.engine.runs.list({ scheduleId: child.id, limit: 1 }))[0]?.job;
        if (end === 'cancelled') await spine.engine.jobs.cancel(HEAD, waiting?.id ?? '', 'too early');
        await pass(spine, 60_000);
        assert.equal((await statuses(spine, child)).at(-1), end);
      }
      assert.equal((await spine.engine.approvals.list({ limit: 10 })).length, 1);
    },
  );

  each('a delayed job comes up for approval when its time has come, not before', async (spine) => {
    const job = await create(spine, { approval: {}, runAt: spine.engine.now() + 5_000 });
    assert.deepEqual(await spine.engine.approvals.list({ limit: 10 }), []);
    await pass(spine, 5_000);
    assert.equal(await stateOf(spine, job), 'awaiting_approval');
    const [asked] = await spine.engine.approvals.list({ limit: 10 });
    assert.equal(asked?.requestedAt, job.createdAt + 5_000);
  });

  each(
    'the outside is told that somebody’s word is wanted [SC-54]',
    async (spine) => {
      await needingApproval(spine);
      const rows = await spine.store.transaction(0, async (tx) =>
        tx.outbox.claim(spine.engine.now() + 1, 10, 1),
      );
      assert.deepEqual(
        rows.map(({ kind, body }) => [kind, body]),
        [['asked', 'deploy']],
      );
    },
    {
      outbox: (job, input) =>
        input === undefined
          ? null
          : { channel: 'webhook', kind: 'asked', jobNo: job.no, body: input.title ?? '', at: job.updatedAt },
    },
  );
});
