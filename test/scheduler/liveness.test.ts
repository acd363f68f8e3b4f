import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { eventually, msBetween, openScene } from './support.ts';

const CHAT = '/v1/chat/completions';
const key = (schedule: string, run: string): string => `agent:main:scheduler:${schedule}:${run}`;

// They wait for thresholds and limits, each beside a server of its own: together they take as long as the longest.
void suite('the life of a turn', { concurrency: 4 }, () => {
  test('an agent that falls silent is stopped at the gateway after the threshold, and the run is a timeout [SC-09 SC-10]', async () => {
    await using scene = await openScene({ env: { SCHEDULER_STALE_THRESHOLD_S: '2' } });
    scene.gateway.state.old = true;
    scene.gateway.state.plan = () => ({ hang: true });
    // What a schedule says itself counts more than what the server says.
    const patient = await scene.plan({ name: 'patient', payload_message: 'x', stale_threshold_s: 600 });
    const waiting = await scene.run(patient);
    const made = await scene.plan({ name: 'hung', payload_message: 'x' });
    const run = await scene.ended(await scene.run(made));
    assert.equal(run.status, 'timeout');
    assert.ok((run.duration_ms ?? 0) >= 2_000 && (run.duration_ms ?? 0) < 40_000, `${run.duration_ms} ms`);
    await eventually('the request was called off', 3_000, async () =>
      scene.gateway.requests(CHAT).some(({ aborted }) => aborted) ? true : null,
    );
    const [left] = await scene.runs(patient);
    assert.deepEqual([left?.id, left?.status], [waiting, 'running']);
  });

  test('an agent that shows activity is left alone, however long it takes, and its last sign of life is shown [SC-09 SC-79]', async () => {
    await using scene = await openScene({ websocket: true });
    scene.gateway.state.plan = () => ({ hang: true });
    const made = await scene.plan({ name: 'busy', payload_message: 'x', stale_threshold_s: 20 });
    const id = await scene.run(made);
    const session = key(made.id, id);
    await eventually('it runs', 5_000, async () => scene.gateway.state.runs.live(session) ?? null);
    const beat = setInterval(() => scene.gateway.state.runs.touch(session), 300);
    try {
      const running = await eventually('its activity is seen', 45_000, async () => {
        const [run] = await scene.runs(made);
        const seenMs = msBetween(run?.started_at ?? null, run?.last_heartbeat ?? null);
        return seenMs > 3_000 ? (run ?? null) : null;
      });
      assert.equal(running.status, 'running');
      const { body: stale } = await scene.server.head.get<{ runs: unknown[] }>('/runs/stale?threshold_s=40');
      assert.deepEqual(stale.runs, []);
    } finally {
      clearInterval(beat);
    }
    scene.gateway.finish(session, 'done at last');
    const run = await scene.ended(id);
    assert.deepEqual([run.status, run.output], ['ok', 'done at last']);
  });

  test('an agent inside a long tool call is alive', async () => {
    await using scene = await openScene({ websocket: true });
    scene.gateway.state.plan = () => ({ hang: true, tool: 'exec' });
    const made = await scene.plan({ name: 'tool', payload_message: 'x', stale_threshold_s: 1 });
    const id = await scene.run(made);
    const session = key(made.id, id);
    await eventually('it runs', 5_000, async () => scene.gateway.state.runs.live(session) ?? null);
    await new Promise((resolve) => setTimeout(resolve, 4_000));
    assert.equal((await scene.runs(made))[0]?.status, 'running');
    scene.gateway.finish(session, 'built');
    assert.equal((await scene.ended(id)).status, 'ok');
  });

  for (const monitoring of ['fails', 'garbage'] as const) {
    test(`a monitoring call that ${monitoring} kills no run`, async () => {
      await using scene = await openScene();
      scene.gateway.state.monitoring = monitoring;
      scene.gateway.state.plan = () => ({ text: 'fine', delayMs: 4_000 });
      const made = await scene.plan({ name: 'unseen', payload_message: 'x', stale_threshold_s: 1 });
      assert.equal((await scene.ended(await scene.run(made))).status, 'ok');
    });
  }

  test('the run timeout ends an agent turn as a timeout, at the gateway too, and the retry follows', async () => {
    await using scene = await openScene();
    scene.gateway.state.plan = () => ({ hang: true });
    const made = await scene.plan({
      name: 'late',
      payload_message: 'x',
      run_timeout_ms: 1_500,
      max_retries: 1,
    });
    const run = await scene.ended(await scene.run(made));
    assert.equal(run.status, 'timeout');
    await eventually('the request was called off', 3_000, async () =>
      scene.gateway.requests(CHAT)[0]?.aborted ? true : null,
    );
    // The retry is made by a loop, after the end.
    const retry = await eventually(
      'the retry is there',
      5_000,
      async () => (await scene.runs(made))[1] ?? null,
    );
    assert.deepEqual([retry.retry_of, retry.retry_count, retry.status], [run.id, 1, 'pending']);
  });

  test('cancelling a run aborts it at the gateway, and a late reply changes nothing [SC-40]', async () => {
    await using scene = await openScene({ websocket: true });
    scene.gateway.state.plan = () => ({ hang: true });
    const made = await scene.plan({ name: 'unwanted', payload_message: 'x' });
    const id = await scene.run(made);
    const session = key(made.id, id);
    await eventually('it runs', 5_000, async () => scene.gateway.state.runs.live(session) ?? null);
    await scene.server.head.post(`/runs/${id}/cancel`, {});
    const run = await scene.ended(id, 5_000);
    assert.equal(run.status, 'cancelled');
    assert.equal(scene.gateway.state.runs.live(session), undefined);
  });
});
