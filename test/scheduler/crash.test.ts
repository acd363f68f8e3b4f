import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { skipWithoutPostgres } from '../support/postgres.ts';
import { startServer } from '../support/server.ts';
import { eventually, openScene, type RunBody, sceneOn, STORES } from './support.ts';

const CHAT = '/v1/chat/completions';
/** How long a run may take whose server is down for longer. */
const LIMIT_MS = 2_000;

async function untilAsked({ gateway }: Awaited<ReturnType<typeof openScene>>, times: number): Promise<void> {
  await eventually(`the gateway was asked ${times} times`, 10_000, async () =>
    gateway.requests(CHAT).length >= times ? true : null,
  );
}

// They wait for limits and for servers to come up, each with one of its own: three at a time fill those waits.
void suite('runs and the end of their server', { concurrency: 3 }, () => {
  test('at least once: a run whose server was killed is a crash, and its replay names it and ends well [SC-27 SC-59 SC-61]', async () => {
    await using scene = await openScene();
    scene.gateway.state.plan = () => ({ hang: true });
    const made = await scene.plan({
      name: 'safe',
      payload_message: 'x',
      delivery_guarantee: 'at-least-once',
    });
    const id = await scene.run(made);
    await untilAsked(scene, 1);
    await scene.server.kill('SIGKILL');
    scene.gateway.state.plan = () => ({ text: 'second time' });
    await scene.server.restart();
    const crashed = await scene.ended(id);
    assert.equal(crashed.status, 'crashed');
    const replay = await eventually('the replay has ended', 10_000, async () => {
      const [, again] = await scene.runs(made);
      return again?.finished_at ? again : null;
    });
    assert.deepEqual([replay.status, replay.replay_of, replay.output], ['ok', id, 'second time']);
    assert.equal(scene.gateway.requests(CHAT).length, 2);
    assert.equal((await scene.schedule(made)).last_status, 'ok');
    assert.match(scene.server.output(), /A run crashed and is replayed/);
  });

  test('at most once: a run whose server was killed is a crash, and the gateway is never asked again [SC-27 SC-60]', async () => {
    await using scene = await openScene();
    scene.gateway.state.plan = () => ({ hang: true });
    const made = await scene.plan({ name: 'once', payload_message: 'x', schedule: '0 0 1 1 *' });
    const id = await scene.run(made);
    await untilAsked(scene, 1);
    await scene.server.kill('SIGKILL');
    await scene.server.restart();
    assert.equal((await scene.ended(id)).status, 'crashed');
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    assert.equal(scene.gateway.requests(CHAT).length, 1);
    const after = await scene.schedule(made);
    assert.deepEqual([after.last_status, after.next_run_at], ['crashed', made.next_run_at]);
    assert.equal((await scene.runs(made)).length, 1);
  });

  test('over the WebSocket a run outlives its server: the next one adopts it, and nothing is sent twice [SC-27 SC-59]', async () => {
    await using scene = await openScene({ websocket: true });
    scene.gateway.state.plan = () => ({ hang: true });
    const made = await scene.plan({ name: 'lasting', payload_message: 'x' });
    const id = await scene.run(made);
    const session = `agent:main:scheduler:${made.id}:${id}`;
    await eventually('it runs', 5_000, async () => scene.gateway.state.runs.live(session) ?? null);
    await scene.server.kill('SIGKILL');
    await scene.server.restart();
    await eventually('it was adopted', 10_000, async () =>
      /[Aa]dopted/.test(scene.server.output()) ? true : null,
    );
    scene.gateway.finish(session, 'went on without you');
    const run = await scene.ended(id);
    assert.deepEqual([run.status, run.output], ['ok', 'went on without you']);
    assert.equal(scene.gateway.requests('agent').length, 1);
  });

  for (const store of STORES) {
    const skip = store === 'PostgreSQL' ? skipWithoutPostgres : false;
    test(`${store}: an answer that came while the server was down longer than the run may take is taken, not timed out [SC-27 SC-59]`, {
      skip,
    }, async () => {
      await using scene = await sceneOn(store, { websocket: true });
      scene.gateway.state.plan = () => ({ hang: true });
      const made = await scene.plan({ name: 'away', payload_message: 'x', run_timeout_ms: LIMIT_MS });
      const id = await scene.run(made);
      const session = `agent:main:scheduler:${made.id}:${id}`;
      await eventually('it runs', 5_000, async () => scene.gateway.state.runs.live(session) ?? null);
      await scene.server.kill('SIGKILL');
      scene.gateway.finish(session, 'finished while you were away');
      await sleep(LIMIT_MS + 500);
      await scene.server.restart();
      const run = await scene.ended(id);
      assert.deepEqual([run.status, run.output], ['ok', 'finished while you were away']);
      assert.equal((await scene.runs(made)).length, 1);
    });

    test(`${store}: at least once: a server that is down longer than the run may take still replays what it lost [SC-59 SC-61]`, {
      skip,
    }, async () => {
      await using scene = await sceneOn(store);
      scene.gateway.state.plan = () => ({ hang: true });
      const made = await scene.plan({
        name: 'long gone',
        payload_message: 'x',
        delivery_guarantee: 'at-least-once',
        run_timeout_ms: LIMIT_MS,
      });
      const id = await scene.run(made);
      await untilAsked(scene, 1);
      await scene.server.kill('SIGKILL');
      scene.gateway.state.plan = () => ({ text: 'second time' });
      await sleep(LIMIT_MS + 500);
      await scene.server.restart();
      assert.equal((await scene.ended(id)).status, 'crashed');
      const replay = await eventually('the replay has ended', 10_000, async () => {
        const [, again] = await scene.runs(made);
        return again?.finished_at ? again : null;
      });
      assert.deepEqual([replay.status, replay.replay_of, replay.output], ['ok', id, 'second time']);
    });
  }

  /** Claimed is not begun: whoever dies in between leaves nothing behind, and the run is simply done by the next. */
  function begun(run: RunBody | undefined): true | null {
    return run?.status === 'running' && run.session_key !== null ? true : null;
  }

  test('runs that wait in line survive a kill -9 and run once each [SC-24]', async () => {
    await using scene = await openScene();
    // The first one lasts until its server is killed; those behind it find this file, and end at once.
    const killed = join(scene.server.dataDir, 'killed');
    const made = await scene.plan({
      name: 'line',
      session_target: 'shell',
      payload_message: `test -e '${killed}' || sleep 60`,
      overlap_policy: 'queue',
      delivery_guarantee: 'at-least-once',
    });
    const first = await scene.run(made);
    await eventually('the first runs', 5_000, async () => begun((await scene.runs(made))[0]));
    await scene.run(made);
    await scene.run(made);
    assert.equal((await scene.schedule(made)).queued_count, 2);
    await scene.server.kill('SIGKILL');
    writeFileSync(killed, '');
    await scene.server.restart();
    assert.equal((await scene.ended(first)).status, 'crashed');
    const done = await eventually('all have run', 15_000, async () => {
      const runs = await scene.runs(made);
      return runs.every(({ finished_at }) => finished_at !== null) && runs.length === 4 ? runs : null;
    });
    assert.deepEqual(done.map(({ status }) => status).toSorted(), ['crashed', 'ok', 'ok', 'ok']);
    assert.equal((await scene.schedule(made)).queued_count, 0);
  });

  test('a kill -9 during the holder of a pool blocks nobody afterwards [SC-47]', async () => {
    await using scene = await openScene();
    const shell = { session_target: 'shell', resource_pool: 'gpu' };
    const a = await scene.plan({ ...shell, name: 'a', payload_message: 'sleep 20' });
    const b = await scene.plan({ ...shell, name: 'b', payload_message: 'true' });
    await scene.run(a);
    await eventually('a runs', 5_000, async () => begun((await scene.runs(a))[0]));
    const waiting = await scene.run(b);
    await scene.server.kill('SIGKILL');
    await scene.server.restart();
    assert.equal((await scene.ended(waiting)).status, 'ok');
    assert.equal((await scene.runs(a))[0]?.status, 'crashed');
  });

  test('a second server on the same data is refused, and the live run is untouched', async () => {
    await using scene = await openScene();
    scene.gateway.state.plan = () => ({ text: 'fine', delayMs: 2_000 });
    const made = await scene.plan({ name: 'alone', payload_message: 'x' });
    const id = await scene.run(made);
    await untilAsked(scene, 1);
    await assert.rejects(startServer({ dataDir: scene.server.dataDir }), /uses|running|already/);
    assert.equal((await scene.ended(id)).status, 'ok');
    assert.equal(scene.gateway.requests(CHAT).length, 1);
  });

  test('SIGTERM lets a short command end well, leaves no row running and no log behind', async () => {
    await using scene = await openScene();
    const made = await scene.plan({
      name: 'short',
      session_target: 'shell',
      payload_message: 'sleep 2; echo done',
    });
    const id = await scene.run(made);
    await eventually('it runs', 5_000, async () =>
      (await scene.runs(made))[0]?.status === 'running' ? true : null,
    );
    await scene.server.kill('SIGTERM');
    const wal = join(scene.server.dataDir, 'spine.db-wal');
    assert.ok(!existsSync(wal) || statSync(wal).size === 0);
    await scene.server.restart();
    const run = await scene.ended(id, 3_000);
    assert.deepEqual([run.status, run.output?.trim()], ['ok', 'done']);
    assert.ok(readFileSync(join(scene.server.dataDir, 'spine.db')).length > 0);
  });
});
