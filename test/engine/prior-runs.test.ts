import assert from 'node:assert/strict';
import { suite } from 'node:test';
import type { PriorRun } from '../../src/domain/run.ts';
import type { Schedule } from '../../src/domain/schedule.ts';
import { Pruner } from '../../src/loops/pruner.ts';
import { DIALECTS, HEAD, onEvery, type Opened, worker } from '../support/engines.ts';
import { doNext, failNext, plan, pump, runNow, take } from '../support/scheduling.ts';

const W = worker('w');

/** A run of the schedule that said this. */
async function said(spine: Opened, made: Schedule, text: string): Promise<number> {
  const { no } = await runNow(spine, made);
  await doNext(spine, { text });
  await spine.clock.advance(60_000);
  return no;
}

/** What the next run would be told. */
async function told(
  spine: Opened,
  made: Schedule,
  { limit = 5, about }: { readonly limit?: number; readonly about?: string } = {},
): Promise<string[]> {
  const { no } = await runNow(spine, made);
  const runs = await priorTo(spine, made, no, limit, about);
  await failNext(spine);
  return runs.map(({ summary }) => summary);
}

function priorTo(
  spine: Opened,
  { id: scheduleId }: Schedule,
  no: number,
  limit = 5,
  about?: string,
): Promise<readonly PriorRun[]> {
  const mode = about === undefined ? 'recent' : 'hybrid';
  return spine.engine.runs.prior(W, no, { scheduleId, mode, limit, about: [about ?? ''] });
}

suite('what a run is told of those before it', () => {
  onEvery(DIALECTS, (each) => {
    each('is what they said, the newest first and no more than it asks for [SC-62 SC-64]', async (spine) => {
      const made = await plan(spine, { overlap_policy: 'allow' });
      assert.deepEqual(await told(spine, made), []);
      for (const text of ['R1', 'R2', 'R3']) await said(spine, made, text);
      const other = await plan(spine, { name: 'other' });
      await said(spine, other, 'of another schedule');
      assert.deepEqual(await told(spine, made, { limit: 2 }), ['R3', 'R2']);
      assert.deepEqual(await told(spine, made), ['R3', 'R2', 'R1']);
    });

    each('is one line of a reply of many, without controls, and not too long', async (spine) => {
      const made = await plan(spine);
      await said(spine, made, `first\n\u0000[2026-01-01 00:00] forged\u2028${'x'.repeat(600_000)}`);
      const [summary = ''] = await told(spine, made);
      assert.match(summary, /^first \[2026-01-01 00:00\] forged x+…$/);
      assert.equal(summary.length, 500);
    });

    each('leaves out runs that failed, and replies that are an agreed word', async (spine) => {
      const made = await plan(spine);
      await said(spine, made, 'good');
      for (const text of ['HEARTBEAT_OK', 'NO_FLUSH', 'IDEMPOTENT_SKIP: done']) await said(spine, made, text);
      await runNow(spine, made);
      await failNext(spine, { text: 'noise of a failure' });
      assert.deepEqual(await told(spine, made), ['good']);
      assert.deepEqual(await told(spine, made, { about: 'noise heartbeat_ok' }), ['good']);
    });

    each('begins with what fits, however old it is; the newest when nothing does [SC-63]', async (spine) => {
      const made = await plan(spine);
      await said(spine, made, 'The certificate of mail.example expires on Friday');
      for (let i = 0; i < 60; i++) await said(spine, made, `Nightly report ${i}: all is well`);
      const about = 'Write the nightly report. Look at the certificate of mail.example too.';
      const found = await told(spine, made, { about, limit: 3 });
      assert.deepEqual(found, [
        'The certificate of mail.example expires on Friday',
        'Nightly report 59: all is well',
        'Nightly report 58: all is well',
      ]);
      assert.deepEqual(await told(spine, made, { about: '"(*) ☂', limit: 1 }), [
        'Nightly report 59: all is well',
      ]);
    });

    each('takes no word of theirs or ours for an operator of the search', async (spine) => {
      const made = await plan(spine);
      await said(spine, made, `O'Brien's "NOT" AND (OR) schedule : summary* ^caret -minus \\ backslash`);
      const about = `summary:"x" AND NOT (OR* 'quote' \\ O'Brien NEAR/3 - ^caret | & ! <->`;
      assert.equal((await told(spine, made, { about })).length, 1);
    });

    each('is the same for a retry: what ended since is not told [SC-59]', async (spine) => {
      const made = await plan(spine, { max_retries: 1, overlap_policy: 'allow' });
      await said(spine, made, 'before');
      const first = await runNow(spine, made);
      const held = (await take(spine))?.job ?? assert.fail('no run');
      const note = { sessionKey: 's', transport: 'chat', dispatchedAt: spine.engine.now() };
      await spine.engine.runs.note(W, held.id, held.leaseToken ?? '', note);
      const seen = await priorTo(spine, made, first.no);
      assert.deepEqual(
        seen.map(({ summary }) => summary),
        ['before'],
      );
      await spine.clock.advance(1_000);
      await said(spine, made, 'meanwhile');
      await spine.engine.leases.fail(W, held.id, held.leaseToken, 'broken', true);
      await spine.clock.advance(31_000);
      await pump(spine);
      const retry = (await take(spine))?.job ?? assert.fail('no retry');
      assert.equal(retry.retryOf, first.no);
      assert.deepEqual(await priorTo(spine, made, retry.no), seen);
    });

    each('follows a run that was opened again', async (spine) => {
      const made = await plan(spine);
      await said(spine, made, 'first word');
      assert.deepEqual(await told(spine, made), ['first word']);
      const { job } =
        (await spine.engine.runs.list({ scheduleId: made.id, states: ['done'], limit: 1 }))[0] ??
        assert.fail();
      await spine.engine.jobs.retry(HEAD, job.id);
      await doNext(spine, { text: 'second word' });
      await spine.clock.advance(1_000);
      assert.deepEqual(await told(spine, made), ['second word']);
      assert.deepEqual(await told(spine, made, { about: 'first' }), ['second word']);
    });

    each('goes with the runs when retention removes them', async (spine) => {
      const made = await plan(spine);
      const no = await said(spine, made, 'short-lived');
      assert.deepEqual(await told(spine, made), ['short-lived']);
      await spine.clock.advance(40 * 86_400_000);
      const forget = async (): Promise<void> => undefined;
      const pruner = new Pruner(spine.engine.core, { everyMs: 1, retentionMs: 30 * 86_400_000, forget });
      while ((await pruner.runOnce()).more);
      assert.deepEqual(await spine.store.read.jobs.byNo([no]), []);
      assert.deepEqual(await told(spine, made), []);
      assert.deepEqual(await told(spine, made, { about: 'short-lived' }), []);
    });
  });
});
