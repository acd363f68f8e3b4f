import assert from 'node:assert/strict';
import { suite } from 'node:test';
import { embeddedClient } from '../../src/app/embedded-client.ts';
import { embeddedNotes } from '../../src/app/embedded-notes.ts';
import type { Schedule } from '../../src/domain/schedule.ts';
import { waiterPoll } from '../../src/loops/keepers.ts';
import { until } from '../support/clock.ts';
import {
  create,
  createMany,
  DIALECTS,
  eventKinds,
  HEAD,
  onEvery,
  type Opened,
  read,
  worker,
} from '../support/engines.ts';
import { pass, pump, runNow, runsOf, schedule, statuses } from '../support/scheduling.ts';
import { agentJob, ended, serve, turn } from './serving.ts';
import { ABSENT, failed, running, ScriptedGateway, UNKNOWN } from './scripted-gateway.ts';

const HOUR_MS = 3_600_000;

/** As a server leaves a run behind that was killed in the middle of it. */
async function orphan(spine: Opened, draft: Record<string, unknown> = {}): Promise<Schedule> {
  const made = await agentJob(spine, draft);
  await (made.nextRunAt === null ? runNow(spine, made) : pass(spine, HOUR_MS));
  const dead = worker('gateway-worker');
  const [job] = await embeddedClient(spine.engine, spine.clock, dead).jobs.claimNext({
    targets: ['gateway:main'],
    leaseMs: 30_000,
  });
  const note = { at: spine.engine.now(), sessionKey: 'scheduler:x:y', transport: 'websocket' };
  await embeddedNotes(spine.engine, dead, '').begin(job ?? assert.fail('no run'), note);
  return made;
}

suite('the gateway worker', () => {
  onEvery(DIALECTS, (each, kind) => {
    each('does a run by a turn, and keeps what the agent said [SC-81]', async (spine) => {
      const gateway = new ScriptedGateway();
      await using served = await serve(spine, gateway);
      const made = await agentJob(spine, { agent_id: 'ops' });
      const job = await runNow(spine, made);
      const { turn: sent, answer } = await turn(gateway);
      assert.equal(sent.sessionKey, `scheduler:${made.id}:${job.id}`);
      assert.equal(served.workers.status()[0]?.running, 1);
      const during = await spine.engine.runs.get(HEAD, job.id);
      assert.deepEqual([during.run.sessionKey, during.run.transport], [sent.sessionKey, 'websocket']);
      assert.equal(during.run.dispatchedAt, spine.engine.now());
      answer('all well');
      await ended(spine, job);
      await pump(spine);
      const after = await spine.engine.runs.get(HEAD, job.id);
      assert.equal((JSON.parse(after.result ?? '') as { text: string }).text, 'all well');
      assert.match(after.run.contextSummary ?? '', /"delivery_guarantee":"at-most-once"/);
      assert.deepEqual(await statuses(spine, made), ['ok']);
      assert.equal(after.job.claimedBy, 'gateway-worker');
    });

    each('does many turns at once: a slow agent delays nobody', async (spine) => {
      const gateway = new ScriptedGateway();
      await using _ = await serve(spine, gateway);
      const slow = await agentJob(spine, { name: 'slow' });
      const quick = await agentJob(spine, { name: 'quick' });
      await runNow(spine, slow);
      await turn(gateway);
      const job = await runNow(spine, quick);
      (await turn(gateway, 1)).answer('quick');
      await ended(spine, job);
      assert.deepEqual(await statuses(spine, slow), ['running']);
      gateway.turns[0]?.answer('slow');
    });

    each('tells a child what its parent said', async (spine) => {
      const gateway = new ScriptedGateway();
      await using _ = await serve(spine, gateway);
      const parent = await agentJob(spine, { name: 'parent' });
      await agentJob(spine, { name: 'child', parent_id: parent.id });
      const job = await runNow(spine, parent);
      (await turn(gateway)).answer('XYZ');
      await ended(spine, job);
      await pump(spine);
      const { turn: sent, answer } = await turn(gateway, 1);
      assert.match(
        sent.message,
        /Triggered by: parent[\s\S]*Parent run output:\n<data ([\w-]+)>\nXYZ\n<\/data \1>/,
      );
      answer('ok');
    });

    each('claims nothing while the gateway is not ready, and then does it once', async (spine) => {
      const gateway = new ScriptedGateway();
      gateway.ready = false;
      await using served = await serve(spine, gateway);
      const made = await agentJob(spine);
      const job = await runNow(spine, made);
      await pass(spine, 60_000, 5_000);
      assert.deepEqual(served.workers.status(), [
        { target: 'gateway:main', running: 0, ready: false, why: 'gateway-draining' },
      ]);
      assert.deepEqual(await eventKinds(spine, job), ['job.created']);
      gateway.ready = true;
      await spine.clock.advance(2_000);
      (await turn(gateway)).answer('late, but done');
      await ended(spine, job);
      assert.deepEqual(await statuses(spine, made), ['ok']);
      assert.equal(gateway.turns.length, 1);
    });

    each('puts off what a gateway did not take, and looks again whether it is ready', async (spine) => {
      const gateway = new ScriptedGateway();
      await using served = await serve(spine, gateway);
      gateway.onRun = ({ fail }) => {
        gateway.ready = false;
        fail(failed('down'));
      };
      const made = await agentJob(spine);
      const job = await runNow(spine, made);
      await until('it is put off', async () => (await read(spine, job)).state === 'scheduled');
      assert.equal((await read(spine, job)).attempts, 0);
      assert.equal((await spine.engine.runs.get(HEAD, job.id)).run.dispatchedAt, null);
      await until('the gateway was looked at', () => served.workers.status()[0]?.ready === false);
      gateway.ready = true;
      gateway.onRun = ({ answer }) => answer('ok');
      await pass(spine, 6_000, 1_000);
      await ended(spine, job);
      await pump(spine);
      assert.deepEqual(await statuses(spine, made), ['ok']);
    });

    each('retries a run whose agent fell silent, after having stopped it [SC-10]', async (spine) => {
      const gateway = new ScriptedGateway();
      gateway.sees = running('frozen');
      await using _ = await serve(spine, gateway);
      const made = await agentJob(spine, { max_retries: 1, stale_threshold_s: 10 });
      const job = await runNow(spine, made);
      const first = await turn(gateway);
      await pass(spine, 12_000, 1_000);
      await ended(spine, job);
      assert.equal(first.signal.aborted, true);
      await pump(spine);
      assert.deepEqual(await statuses(spine, made), ['timeout', 'pending']);
      gateway.sees = running(null);
      await pass(spine, 30_000, 5_000);
      (await turn(gateway, 1)).answer('ok');
      await until('it went well', async () => (await statuses(spine, made)).at(-1) === 'ok');
    });

    each('stops a turn that takes longer than its run may', async (spine) => {
      const gateway = new ScriptedGateway();
      gateway.sees = running('first words');
      await using _ = await serve(spine, gateway);
      const made = await agentJob(spine, { run_timeout_ms: 20_000 });
      const job = await runNow(spine, made);
      const { signal, turn: sent } = await turn(gateway);
      assert.equal(sent.timeoutMs, 20_000);
      await pass(spine, 21_000, 1_000);
      await ended(spine, job);
      assert.equal(signal.aborted, true);
      assert.deepEqual(await statuses(spine, made), ['timeout']);
    });

    each('counts the time of a run from the moment the gateway has a lane for it', async (spine) => {
      const gateway = new ScriptedGateway();
      gateway.sees = { status: 'queued', mark: null, tool: null };
      await using _ = await serve(spine, gateway);
      const made = await agentJob(spine, { run_timeout_ms: 20_000 });
      const job = await runNow(spine, made);
      const { signal } = await turn(gateway);
      await pass(spine, 120_000, 1_000);
      assert.deepEqual([signal.aborted, await statuses(spine, made)], [false, ['running']]);
      // A gateway may say so before it has a lane: only activity is a sign.
      gateway.sees = running(null);
      await pass(spine, 15_000, 1_000);
      gateway.sees = running('first words');
      await pass(spine, 19_000, 1_000);
      assert.deepEqual(await statuses(spine, made), ['running']);
      // The sign reaches the database in its own time, while this clock goes on.
      await pass(spine, 30_000, 1_000);
      await ended(spine, job);
      assert.equal(signal.aborted, true);
      assert.deepEqual(await statuses(spine, made), ['timeout']);
    });

    each('ends a run, half a minute late, whose turn the gateway does not show', async (spine) => {
      const gateway = new ScriptedGateway();
      gateway.sees = UNKNOWN;
      await using _ = await serve(spine, gateway);
      const made = await agentJob(spine, { run_timeout_ms: 20_000 });
      const job = await runNow(spine, made);
      await turn(gateway);
      await pass(spine, 52_000, 1_000);
      await ended(spine, job);
      assert.deepEqual(await statuses(spine, made), ['timeout']);
    });

    each('stops a turn within a second or two of its cancelling; a late answer is ignored', async (spine) => {
      const gateway = new ScriptedGateway();
      await using _ = await serve(spine, gateway);
      const made = await agentJob(spine);
      const job = await runNow(spine, made);
      const { signal, answer } = await turn(gateway);
      await spine.engine.jobs.cancel(HEAD, job.id, 'enough');
      await spine.clock.advance(1_000);
      await ended(spine, job);
      assert.equal(signal.aborted, true);
      answer('late');
      await pump(spine);
      assert.deepEqual(await statuses(spine, made), ['cancelled']);
    });

    each('leaves a turn behind when it stops, which the next start adopts', async (spine) => {
      const gateway = new ScriptedGateway();
      const before = await serve(spine, gateway);
      const made = await agentJob(spine);
      const job = await runNow(spine, made);
      const { signal } = await turn(gateway);
      await before.stop();
      assert.deepEqual([signal.aborted, gateway.closed], [false, true]);
      assert.deepEqual(await statuses(spine, made), ['pending']);
      await using served = await serve(spine, gateway);
      await until('it is followed', () => gateway.follows.length === 1);
      gateway.follows[0]?.answer('went on');
      await ended(spine, job);
      const { result, job: done } = await spine.engine.runs.get(HEAD, job.id);
      assert.equal((JSON.parse(result ?? '') as { text: string }).text, 'went on');
      assert.deepEqual([done.attempts, gateway.turns.length], [1, 1]);
      assert.ok(served.log.lines.includes('Adopted a turn that the gateway still has'));
    });

    each('begins anew what an operator opened again', async (spine) => {
      const gateway = new ScriptedGateway();
      await using _ = await serve(spine, gateway);
      const job = await runNow(spine, await agentJob(spine));
      const first = await turn(gateway);
      first.answer('TASK_FAILED: no disk');
      await ended(spine, job);
      await pump(spine);
      await spine.clock.advance(1_000);
      await spine.engine.jobs.redrive(HEAD, job.id).catch(() => spine.engine.jobs.retry(HEAD, job.id));
      const second = await turn(gateway, 1);
      assert.notEqual(second.turn.runKey, first.turn.runKey);
      second.answer('ok');
      await ended(spine, job);
      assert.deepEqual(gateway.follows, []);
    });

    each('does jobs that no schedule made, too', async (spine) => {
      const gateway = new ScriptedGateway();
      await using _ = await serve(spine, gateway);
      const job = await create(spine, { target: 'gateway:main', spec: { message: 'Say hello.' } });
      const { turn: sent, answer } = await turn(gateway);
      assert.deepEqual([sent.message, sent.sessionKey], ['Say hello.', `spine:${job.id}:1`]);
      answer('hello');
      await ended(spine, job);
      assert.equal((await read(spine, job)).state, 'done');
    });

    if (kind.dialect === 'postgres')
      each(
        'sends no more turns at once than one gateway takes, however many servers there are',
        async (spine) => {
          await using other = (await spine.another?.()) ?? assert.fail('no second server');
          const gateway = new ScriptedGateway();
          const three = { SPINE_GATEWAY_CONCURRENCY: '3' };
          await using _ = await serve(spine, gateway, three);
          await using __ = await serve(other, gateway, three);
          const jobs = await createMany(spine, 8, { target: 'gateway:main', spec: 'Do it.' });
          for (let done = 0; done < jobs.length; done++) {
            const open = Math.min(3, jobs.length - done);
            await until(`${open} run`, async () => {
              await Promise.all([spine, other].map(({ engine }) => waiterPoll(engine.core).runOnce()));
              return gateway.turns.length === done + open;
            });
            gateway.turns[done]?.answer('ok');
            const first = jobs.find(({ id }) => gateway.turns[done]?.turn.sessionKey.includes(id));
            await ended(spine, first ?? assert.fail('whose turn?'));
          }
          assert.equal(gateway.turns.length, jobs.length);
        },
      );
    if (kind.dialect === 'sqlite') {
      afterAKill(each);
      asSettings(each);
    }
  });
});

/** The store has no hand in this. */
function asSettings(each: Parameters<Parameters<typeof onEvery>[1]>[0]): void {
  each('looks at a turn as often as SCHEDULER_HEARTBEAT_CHECK_MS says [SC-90]', async (spine) => {
    const gateway = new ScriptedGateway();
    gateway.sees = () => running(`event ${gateway.looks.length}`);
    await using _ = await serve(spine, gateway, { SCHEDULER_HEARTBEAT_CHECK_MS: '3000' });
    const job = await runNow(spine, await agentJob(spine));
    const { answer } = await turn(gateway);
    for (let looks = 1; looks <= 4; looks++) {
      await until(`look ${looks}`, () => gateway.looks.length === looks);
      await spine.clock.advance(2_999);
      assert.equal(gateway.looks.length, looks);
      await spine.clock.advance(1);
    }
    answer('done');
    await ended(spine, job);
  });
}

/** On SQLite a start knows at once that whoever held a job is gone. */
function afterAKill(each: Parameters<Parameters<typeof onEvery>[1]>[0]): void {
  each('replays at once what was promised at least once [SC-59 SC-61 SC-27]', async (spine) => {
    const made = await orphan(spine, { delivery_guarantee: 'at-least-once' });
    const gateway = new ScriptedGateway();
    gateway.sees = ABSENT;
    await using served = await serve(spine, gateway);
    await until('it crashed', async () => (await statuses(spine, made))[0] === 'crashed');
    await pump(spine);
    const { turn: sent, answer } = await turn(gateway);
    answer('second time lucky');
    await until('the replay is done', async () => (await statuses(spine, made))[1] === 'ok');
    await pump(spine);
    const [crashed, replay] = await runsOf(spine, made);
    assert.deepEqual([replay?.run.kind, replay?.earlierId], ['replay', crashed?.job.id]);
    assert.equal(replay?.job.retryCount, 0);
    assert.equal(sent.sessionKey, `scheduler:${made.id}:${replay?.job.id}`);
    assert.equal((await schedule(spine, made)).lastStatus, 'ok');
    assert.ok(served.log.lines.includes('A run crashed and is replayed'));
    assert.equal(gateway.turns.length, 1);
  });

  each(
    'never sends a second time what was promised at most once: its tick is over, and the next one comes [SC-60 SC-61 SC-27]',
    async (spine) => {
      const made = await orphan(spine, { every: '1h' });
      const gateway = new ScriptedGateway();
      gateway.sees = ABSENT;
      await using served = await serve(spine, gateway);
      await until('it crashed', async () => (await statuses(spine, made))[0] === 'crashed');
      await pump(spine);
      const after = await schedule(spine, made);
      assert.deepEqual(
        [after.lastStatus, after.enabled, (after.nextRunAt ?? 0) - made.createdAt],
        ['crashed', true, 2 * HOUR_MS],
      );
      assert.ok(served.log.lines.includes('A run crashed and is not replayed'));
      await pass(spine, HOUR_MS - 1);
      assert.deepEqual([gateway.turns.length, (await runsOf(spine, made)).length], [0, 1]);
      await pass(spine, 1);
      (await turn(gateway)).answer('the next one');
      await until('the next one is done', async () => (await statuses(spine, made))[1] === 'ok');
      assert.deepEqual(
        (await runsOf(spine, made)).map(({ run }) => (run.dueAt ?? 0) - made.createdAt),
        [HOUR_MS, 2 * HOUR_MS],
      );
    },
  );

  each('gives a replay of a run by hand the key of the first', async (spine) => {
    const made = await orphan(spine, { delivery_guarantee: 'at-least-once' });
    const gateway = new ScriptedGateway();
    gateway.sees = ABSENT;
    await using _ = await serve(spine, gateway);
    await until('it crashed', async () => (await statuses(spine, made))[0] === 'crashed');
    await pump(spine);
    const first = await turn(gateway);
    first.fail(failed('lost', true));
    await spine.clock.advance(60_000);
    await until('it crashed again', async () => (await statuses(spine, made))[1] === 'crashed');
    await pump(spine);
    const second = await turn(gateway, 1);
    const key = /\[IDEMPOTENCY KEY: [0-9a-f]{32}\]/;
    assert.equal(second.turn.message.match(key)?.[0], first.turn.message.match(key)?.[0]);
    assert.notEqual(second.turn.sessionKey, first.turn.sessionKey);
    second.answer('ok');
  });
}
