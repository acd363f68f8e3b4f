import assert from 'node:assert/strict';
import { LIMITS } from '../../src/domain/limits.ts';
import {
  claimNext,
  create,
  type Each,
  HEAD,
  type Opened,
  read,
  stateOf,
  worker,
} from '../support/engines.ts';

const MEGABYTE = 1_000_000;
/** As many of them as stay below the limit, with the fields that every job has. */
const FITTING = Math.floor(LIMITS.answerBytes / (MEGABYTE + 1_200));
const CLAW = worker('claw');

export function claimSizeTopics(each: Each): void {
  each(
    'hands out only as many large jobs as one answer may hold, and leaves the rest in line',
    async (spine) => {
      const made = await createMany(spine, FITTING + 3, { spec: 'x'.repeat(MEGABYTE) });
      const first = await claimNext(spine, { max: 1_000 });
      assert.deepEqual(
        first.map(({ job }) => job.id),
        made.slice(0, FITTING),
      );
      assert.ok(first.reduce((sum, { bytes }) => sum + bytes, 0) <= LIMITS.answerBytes);
      assert.equal((await claimNext(spine, { max: 1_000 })).length, 3);
    },
  );

  each('reads no large input before a job is claimed, and every small one with it', async (spine) => {
    await create(spine, { spec: 'x'.repeat(MEGABYTE) });
    await create(spine, { spec: 'y' });
    const [large, small] = await claimNext(spine, { max: 1_000 });
    assert.deepEqual([large?.input, small?.input?.spec], [null, '"y"']);
    const details = large && (await spine.engine.jobs.details([large.job])).get(large.job.no);
    assert.equal(details?.input.spec?.length, MEGABYTE + 2);
  });

  each('hands out a job that alone is larger than an answer may be', async (spine) => {
    const huge = { spec: 'x'.repeat(LIMITS.answerBytes) };
    await createMany(spine, 2, huge);
    assert.equal((await claimNext(spine, { max: 10 })).length, 1);
    assert.equal((await claimNext(spine, { max: 10 })).length, 1);
  });

  each('counts the instructions of a type with every job of it', async (spine) => {
    const sop = 's'.repeat(LIMITS.sopChars);
    await spine.engine.types.save(HEAD, { name: 'wordy', sop });
    const fitting = Math.floor(LIMITS.answerBytes / (LIMITS.sopChars + 1_200));
    await createMany(spine, fitting + 1, { type: 'wordy' });
    assert.equal((await claimNext(spine, { max: 1_000 })).length, fitting);
    assert.equal((await claimNext(spine, { max: 1_000, types: ['wordy'] })).length, 1);
  });

  each('counts what earlier attempts and comments have left', async (spine) => {
    const { engine } = spine;
    const ids = await createMany(spine, FITTING + 1, {});
    const error = 'e'.repeat(LIMITS.errorChars);
    const comments = MEGABYTE / LIMITS.commentChars - 1;
    for (const { job } of await claimNext(spine, { max: 100 })) {
      await engine.leases.fail(CLAW, job.id, job.leaseToken, error, true);
      for (let i = 0; i < comments; i++)
        await engine.jobs.comment(HEAD, job.id, 'c'.repeat(LIMITS.commentChars));
    }
    assert.equal(ids.length, FITTING + 1);
    assert.equal((await claimNext(spine, { max: 100 })).length, FITTING);
  });

  each('takes no more with an end than with a claim', async (spine) => {
    const { engine } = spine;
    await createMany(spine, 2 * FITTING + 4, { spec: 'x'.repeat(MEGABYTE) });
    const next = { targets: ['any'], max: 1_000 };
    const [one, two] = await claimNext(spine, { max: 2 });
    assert.ok(one && two);
    const ended = await engine.leases.endThenClaim(CLAW, one.job.id, one.job.leaseToken, DONE, next);
    assert.equal(ended.next.length, FITTING);
    const ends = [{ id: two.job.id, leaseToken: two.job.leaseToken, result: null }];
    assert.equal((await engine.leases.completeMany(CLAW, ends, next)).next.length, FITTING);
  });

  each('answers a repeated claim within the same bounds', async (spine) => {
    const ids = await createMany(spine, FITTING + 2, { spec: 'x'.repeat(MEGABYTE) });
    const claim = { max: 1_000, claimId: 'the same' };
    const first = await claimNext(spine, claim);
    const again = await claimNext(spine, claim);
    assert.deepEqual(
      again.map(({ job }) => job.leaseToken),
      first.map(({ job }) => job.leaseToken),
    );
    for (const id of ids.slice(FITTING)) await spine.engine.leases.claim(CLAW, id, { claimId: 'the same' });
    assert.equal((await claimNext(spine, claim)).length, FITTING);
  });

  each(
    'keeps the order of claims when so many targets and types are named that not all fit',
    async (spine) => {
      const types = Array.from({ length: 10 }, (_, i) => `type-${i}`);
      const drafts = Array.from({ length: 900 }, (_, i) => ({
        target: `t${i % 3}`,
        type: `type-${i % 10}`,
        priority: (i * 7) % 5,
      }));
      const { jobs } = await spine.engine.jobs.create(HEAD, drafts);
      const best = jobs.toSorted((a, b) => b.priority - a.priority || a.no - b.no).map(({ no }) => no);
      const taken: number[] = [];
      for (;;) {
        const claimed = await claimNext(spine, { targets: ['t0', 't1', 't2'], types, max: 1_000 });
        if (claimed.length === 0) break;
        taken.push(...claimed.map(({ job }) => job.no));
      }
      assert.deepEqual(taken, best);
    },
  );

  each('counts no attempt for a claim that is given back unanswered', async (spine) => {
    const { engine } = spine;
    const job = await create(spine, { maxAttempts: 1 });
    for (let i = 0; i < 3; i++) {
      const claimed = await claimNext(spine);
      assert.equal(claimed[0]?.job.attempts, 1);
      await engine.leases.giveBack(CLAW, claimed, false);
      const after = await read(spine, job);
      assert.deepEqual([after.state, after.attempts, after.claimedBy], ['queued', 0, null]);
      // Given back twice, or after somebody else has it: nothing changes.
      await engine.leases.giveBack(CLAW, claimed, false);
    }
    const [again] = await claimNext(spine);
    assert.equal(await stateOf(spine, job), 'running');
    assert.equal(again?.job.attempts, 1);
  });
}

const DONE = { verb: 'complete', result: null } as const;

async function createMany(
  spine: Opened,
  count: number,
  draft: { readonly spec?: string; readonly type?: string },
): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < count; i++) ids.push((await create(spine, draft)).id);
  return ids;
}
