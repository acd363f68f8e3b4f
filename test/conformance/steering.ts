import assert from 'node:assert/strict';
import { rescore } from '../../src/engine/rescoring.ts';
import {
  claimed,
  claimNext,
  create,
  createMany,
  type Each,
  eventKinds,
  failed,
  finished,
  HEAD,
  type Opened,
  read,
  refusal,
  refused,
  runTimers,
  settleAll,
  stateOf,
  worker,
} from '../support/engines.ts';

const HOUR_MS = 3_600_000;

async function tagged({ engine }: Opened, tag: string): Promise<number[]> {
  const jobs = await engine.jobs.list(HEAD, {
    states: ['queued', 'scheduled'],
    tag,
    order: 'oldest',
    limit: 9,
  });
  return jobs.map(({ no }) => no);
}

export function steeringTopics(each: Each): void {
  each(
    'changes what is asked of a job that nobody holds: the next claim and every list see it',
    async (spine) => {
      const { engine } = spine;
      const [first, second] = await createMany(spine, 2, { tags: ['old', 'kept'], params: { n: 1 } });
      assert.ok(first !== undefined && second !== undefined);
      const change = { priority: 5, params: { n: 2 }, tags: ['new', 'kept', 'new'] };
      const { job } = await engine.jobs.change(HEAD, second.id, change);
      assert.equal(job.priority, 5);
      assert.deepEqual(await Promise.all(['old', 'new', 'kept'].map((tag) => tagged(spine, tag))), [
        [first.no],
        [second.no],
        [first.no, second.no],
      ]);
      assert.deepEqual(await eventKinds(spine, second), ['job.created', 'job.edited']);
      const events = await engine.jobs.events(HEAD, second.id, 1, 9);
      assert.deepEqual(events[0]?.facts, { asked: { params: { n: 2 }, priority: 5, tags: ['new', 'kept'] } });
      const [taken] = await claimNext(spine);
      assert.deepEqual(
        [taken?.job.no, taken?.input?.params, taken?.input?.tags],
        [second.no, '{"n":2}', ['new', 'kept']],
      );
      await engine.jobs.change(HEAD, first.id, { tags: [] });
      assert.deepEqual((await engine.jobs.details([first])).get(first.no)?.input.tags, []);
    },
  );

  each('puts a job off, and calls it up at once, by its run time alone', async (spine) => {
    const { engine } = spine;
    const job = await create(spine);
    const later = engine.now() + HOUR_MS;
    assert.equal((await engine.jobs.change(HEAD, job.id, { runAt: later })).job.state, 'scheduled');
    assert.deepEqual(await claimNext(spine), []);
    const waiting = claimNext(spine, { waitMs: 10_000 });
    assert.equal((await engine.jobs.change(HEAD, job.id, { runAt: 0 })).job.state, 'queued');
    assert.deepEqual(
      (await waiting).map((taken) => taken.job.no),
      [job.no],
      'whoever waits is told',
    );
    const blocked = await create(spine, { after: [{ job: job.id }] });
    assert.equal((await engine.jobs.change(HEAD, blocked.id, { runAt: later })).job.state, 'blocked');
    const counts = (await engine.counts()).filter(({ n }) => n !== 0);
    assert.deepEqual(counts.map(({ state, n }) => `${state} ${n}`).toSorted(), ['blocked 1', 'running 1']);
  });

  each('leaves a job alone that is held, has ended, or was agreed to as it is', async (spine) => {
    const { engine } = spine;
    const held = await create(spine);
    await claimed(spine, held);
    assert.equal(await refusal(engine.jobs.change(HEAD, held.id, { priority: 1 })), 'conflict');
    const done = await create(spine);
    await finished(spine, done);
    assert.equal(await refusal(engine.jobs.change(HEAD, done.id, { priority: 1 })), 'conflict');
    const toAgree = await create(spine, { approval: {}, params: { n: 1 } });
    assert.equal(await refusal(engine.jobs.change(HEAD, toAgree.id, { params: { n: 2 } })), 'conflict');
    const later = await engine.jobs.change(HEAD, toAgree.id, { runAt: engine.now() + HOUR_MS });
    assert.equal(later.job.state, 'awaiting_approval');
    assert.equal(await refusal(engine.jobs.change(worker('w'), toAgree.id, { priority: 1 })), 'not_owner');
    const asking = await create(spine);
    const { leaseToken } = await claimed(spine, asking);
    const question = { question: 'Which?', to: 'ann', timeoutMs: HOUR_MS };
    await engine.questions.ask(worker('w'), asking.id, leaseToken, question);
    assert.equal(await refusal(engine.jobs.change(HEAD, asking.id, { runAt: 0 })), 'conflict');
    assert.equal((await read(spine, asking)).state, 'blocked');
  });

  each(
    'holds new params against the schema of the type, and counts the points of new tags',
    async (spine) => {
      const { engine } = spine;
      const schema = { type: 'object', required: ['n'], additionalProperties: false, properties: { n: {} } };
      await engine.types.save(HEAD, {
        name: 'count',
        paramsSchema: schema,
        scoring: { tags: { urgent: 4 } },
      });
      const job = await create(spine, { type: 'count', params: { n: 1 } });
      assert.equal(await refusal(engine.jobs.change(HEAD, job.id, { params: { m: 1 } })), 'bad_request');
      assert.equal((await engine.jobs.details([job])).get(job.no)?.input.params, '{"n":1}');
      await engine.jobs.change(HEAD, job.id, { tags: ['urgent'], priority: 10 });
      await rescore(engine.core);
      const scored = await read(spine, job);
      assert.deepEqual([scored.priority, scored.score], [14, 4]);
    },
  );

  each('removes a job that has ended with everything of it, and writes down who did', async (spine) => {
    const { engine, store } = spine;
    const [gone, other] = await createMany(spine, 2, { tags: ['t'] });
    assert.ok(gone !== undefined && other !== undefined);
    assert.equal(await refusal(engine.jobs.remove(HEAD, gone.id)), 'conflict');
    await finished(spine, gone);
    await engine.jobs.remove(HEAD, gone.id);
    assert.equal(await refusal(engine.jobs.get(HEAD, gone.id)), 'not_found');
    assert.deepEqual(await store.read.feed.ofJob(gone.no, 0, 9), []);
    assert.equal(await refusal(engine.jobs.remove(HEAD, gone.id)), 'not_found');
    const [entry] = await engine.audit.list(Number.MAX_SAFE_INTEGER, 1);
    assert.deepEqual([entry?.action, entry?.subject, entry?.by], ['job.delete', gone.id, 'head']);
    assert.equal(await stateOf(spine, other), 'queued');
    const counts = (await engine.counts()).filter(({ n }) => n !== 0);
    assert.deepEqual(counts, [{ target: 'any', state: 'queued', n: 1 }]);
  });

  each('keeps an ended job for which others wait, and gives no number twice', async (spine) => {
    const { engine } = spine;
    const parent = await create(spine);
    const child = await create(spine, { after: [{ job: parent.id, on: 'failure' }] });
    await engine.jobs.cancel(HEAD, parent.id, null);
    // Nothing has settled it yet.
    assert.equal(await refusal(engine.jobs.remove(HEAD, parent.id)), 'conflict');
    await engine.jobs.cancel(HEAD, child.id, null);
    await engine.jobs.remove(HEAD, child.id);
    const next = await create(spine);
    assert.equal(next.no, child.no + 1);
    // A bot's task goes whatever its state is, and every other one as retention has it.
    await engine.bots.remove(HEAD, next.id);
    const [entry] = await engine.audit.list(Number.MAX_SAFE_INTEGER, 1);
    assert.deepEqual([entry?.action, entry?.subject, entry?.by], ['job.delete', next.id, 'head']);
    const last = await create(spine);
    assert.equal(last.no, next.no + 1);
    assert.deepEqual(await eventKinds(spine, last), ['job.created']);
    await finished(spine, last);
    await spine.store.transaction(0, async (tx) => tx.jobs.remove([last.no]));
    assert.equal((await create(spine)).no, last.no + 1);
  });

  each('ends a job that nobody took in time, and whoever waited for it goes on', async (spine) => {
    const { engine, clock } = spine;
    const startBefore = engine.now() + HOUR_MS;
    const job = await create(spine, { startBefore });
    const later = await create(spine, { startBefore, runAt: engine.now() + HOUR_MS / 2 });
    const child = await create(spine, { after: [{ job: job.id, on: 'complete' }] });
    const orphan = await create(spine, { after: [{ job: job.id }] });
    await clock.advance(HOUR_MS - 1);
    await runTimers(spine);
    await settleAll(spine);
    assert.deepEqual([await stateOf(spine, job), await stateOf(spine, later)], ['queued', 'queued']);
    const due = await spine.store.read.jobs.nextDueAt();
    assert.equal(due, startBefore, 'the loop comes back at that very moment');
    await clock.advance(1);
    await runTimers(spine);
    await settleAll(spine);
    const ended = await read(spine, job);
    assert.deepEqual([ended.state, ended.reason, ended.startBefore], ['skipped', 'expired', startBefore]);
    assert.deepEqual(await eventKinds(spine, job), ['job.created', 'job.skipped']);
    assert.deepEqual(await Promise.all([later, child, orphan].map((one) => stateOf(spine, one))), [
      'skipped',
      'queued',
      'skipped',
    ]);
    await engine.jobs.retry(HEAD, job.id);
    await runTimers(spine);
    await settleAll(spine);
    assert.equal(await stateOf(spine, job), 'queued', 'an operator wants it all the same');
  });

  each('gives nobody a job for which it is too late, though no loop has come by yet', async (spine) => {
    const { engine, clock } = spine;
    const startBefore = engine.now() + HOUR_MS;
    await engine.pools.save(HEAD, { name: 'one', capacity: 1, perKey: 1 });
    const [byName, next, pooled] = [
      await create(spine, { startBefore }),
      await create(spine, { startBefore }),
      await create(spine, { startBefore, pool: 'one' }),
    ];
    const fits = await create(spine, { pool: 'one' });
    await clock.advance(HOUR_MS);
    assert.equal(await refusal(engine.leases.claim(worker('w'), byName.id)), 'terminal_status');
    const taken = await claimNext(spine, { max: 9 });
    assert.deepEqual(
      taken.map(({ job }) => job.no),
      [fits.no],
      'and none of them holds a slot',
    );
    for (const job of [byName, next, pooled]) assert.equal(await stateOf(spine, job), 'skipped');
    const born = await create(spine, { startBefore: engine.now() });
    assert.deepEqual([born.state, born.reason], ['skipped', 'expired']);
  });

  each('lets a job go on that was taken in time, however often it is tried again', async (spine) => {
    const { engine, clock } = spine;
    const startBefore = engine.now() + HOUR_MS;
    const retried = await create(spine, { startBefore });
    const lineage = await create(spine, { startBefore, retry: { mode: 'lineage', max: 1 } });
    await failed(spine, retried);
    await failed(spine, lineage);
    await clock.advance(2 * HOUR_MS);
    await runTimers(spine);
    await settleAll(spine);
    const taken = await claimNext(spine, { max: 9 });
    assert.deepEqual(
      taken.map(({ job }) => job.rootNo ?? job.no).toSorted((a, b) => a - b),
      [retried.no, lineage.no],
    );
  });

  each('says which of two times is wrong when no moment is left between them', async (spine) => {
    const now = spine.engine.now();
    const why = await refused(create(spine, { runAt: now + 2, startBefore: now + 2 }));
    assert.deepEqual([why.code, why.details['field']], ['bad_request', 'startBefore']);
  });
}
