import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eventually, openServerOn, type RunBody, type Scene } from '../../scheduler/support.ts';
import { type RealGateway, startRealGateway } from '../../support/gateway/real-gateway.ts';
import { type Steering, steer } from '../../support/gateway/stub-model.ts';

/** Far below the default of 90 s, so that the tests need not wait for it; the long turns live under it too. */
const STALE_S = 20;
const LONG_MS = 310_000;

let real: RealGateway;
let scene: Scene;
let long: Promise<readonly RunBody[]>;

/** Runs a prompt through a schedule of its own; answers the run's id. */
async function ask(steering: Steering, draft: Record<string, unknown> = {}): Promise<string> {
  const payload_message = steer(steering);
  return scene.run(await scene.plan({ name: 'real', stale_threshold_s: STALE_S, payload_message, ...draft }));
}

function asked(marker: string): number {
  return real.modelRequests().filter(({ prompt }) => prompt.includes(marker)).length;
}

async function runningAt(marker: string): Promise<void> {
  await eventually('the model is asked', 60_000, async () => (asked(marker) > 0 ? true : null));
}

before(async () => {
  real = await startRealGateway();
  scene = await openServerOn(real, { SCHEDULER_HEARTBEAT_CHECK_MS: '5000' });
  const warm = await scene.ended(await ask({ say: 'warm' }), 60_000);
  assert.equal(warm.status, 'ok', warm.error_message ?? '');
  // These take more than five minutes; they run while the others are tested.
  const gapMs = 1_000;
  const streaming = await ask({ words: Math.ceil(LONG_MS / gapMs), gapMs });
  const tool = { name: 'exec', args: { command: 'sleep 10' }, times: Math.ceil(LONG_MS / 10_000) };
  const working = await ask({ tool, say: 'worked' });
  long = Promise.all([streaming, working].map((id) => scene.ended(id, LONG_MS + 180_000)));
  long.catch(() => undefined);
});

after(async () => {
  await scene[Symbol.asyncDispose]();
  await real.stop();
});

test('the text of a real turn is the result of the run, with its usage [SC-08]', async () => {
  const run = await scene.ended(await ask({ say: 'hello from the model' }), 60_000);
  assert.deepEqual([run.status, run.output], ['ok', 'hello from the model']);
  assert.ok((run.usage?.['total_tokens'] ?? 0) > 0);
  assert.match(run.session_key ?? '', /^scheduler:/);
});

test('a hung model is caught and stopped within the threshold and ten seconds [SC-09 SC-10]', async () => {
  const run = await scene.ended(await ask({ hang: true, say: 'hung' }), 90_000);
  assert.equal(run.status, 'timeout');
  const ms = run.duration_ms ?? 0;
  assert.ok(ms >= STALE_S * 1_000 && ms <= (STALE_S + 10) * 1_000, `${ms} ms`);
  const request = real.modelRequests().find(({ steering }) => steering.hang);
  await eventually('the model call was dropped', 5_000, async () => (request?.aborted ? true : null));
});

test('cancelling a run aborts its session [SC-40]', async () => {
  const id = await ask({ delayMs: 60_000, say: 'cancelled one' });
  await runningAt('cancelled one');
  await scene.server.head.post(`/runs/${id}/cancel`, {});
  assert.equal((await scene.ended(id, 15_000)).status, 'cancelled');
  const request = real.modelRequests().find(({ prompt }) => prompt.includes('cancelled one'));
  await eventually('the model call was dropped', 5_000, async () => (request?.aborted ? true : null));
});

test('kill -9 of Spine in the middle of an at-most-once run: no second turn, and its answer is taken [SC-27 SC-60]', async () => {
  const id = await ask({ delayMs: 15_000, say: 'at most once' });
  await runningAt('at most once');
  await scene.server.kill('SIGKILL');
  await scene.server.restart();
  const run = await scene.ended(id, 60_000);
  assert.deepEqual([run.status, run.output], ['ok', 'at most once']);
  assert.equal(asked('at most once'), 1);
  assert.equal((await scene.runs({ id: run.job_id })).length, 1);
});

test('kill -9 of Spine in the middle of an at-least-once run ends in one finished run [SC-27 SC-59]', async () => {
  const id = await ask({ delayMs: 15_000, say: 'at least once' }, { delivery_guarantee: 'at-least-once' });
  await runningAt('at least once');
  await scene.server.kill('SIGKILL');
  await scene.server.restart();
  const run = await scene.ended(id, 60_000);
  const runs = await eventually('the run, or its replay, has ended', 60_000, async () => {
    const all = await scene.runs({ id: run.job_id });
    return all.every(({ finished_at }) => finished_at !== null) ? all : null;
  });
  assert.equal(runs.filter(({ status }) => status === 'ok').length, 1);
});

test('turns of more than five minutes that stream or use tools are left alone [SC-09]', async () => {
  for (const run of await long) {
    assert.equal(run.status, 'ok', run.error_message ?? '');
    assert.ok((run.duration_ms ?? 0) > 300_000, `${run.duration_ms} ms`);
  }
});

test('kill -9 of the gateway in the middle of a run ends in exactly one finished run', async () => {
  const id = await ask({ delayMs: 6_000, say: 'gateway died' });
  await runningAt('gateway died');
  await real.kill9();
  await real.restart();
  const run = await scene.ended(id, 180_000);
  assert.deepEqual([run.status, run.output], ['ok', 'gateway died']);
  assert.equal((await scene.runs({ id: run.job_id })).length, 1);
});

test('a gateway that drains delays a run, and fails nothing [SC-03]', async () => {
  const first = await ask({ delayMs: 8_000, say: 'before the drain' });
  await runningAt('before the drain');
  real.drain();
  await eventually('it drains', 30_000, async () => {
    const answer = await fetch(`${real.url}/readyz`).catch(() => null);
    await answer?.body?.cancel();
    return answer?.ok === true ? null : true;
  });
  const second = await ask({ say: 'after the drain' });
  assert.equal((await scene.ended(first, 60_000)).status, 'ok');
  await real.gone();
  await real.restart();
  const late = await scene.ended(second, 60_000);
  assert.deepEqual([late.status, late.output], ['ok', 'after the drain']);
  assert.equal(asked('after the drain'), 1);
});
