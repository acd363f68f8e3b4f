import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { eventually, openServerOn, type Scene } from '../../scheduler/support.ts';
import { type RealGateway, startRealGateway } from '../../support/gateway/real-gateway.ts';
import { type Steering, steer } from '../../support/gateway/stub-model.ts';

/** As many turns as this run at once on a machine of few cores; the others wait for a lane. */
const LANES = 8;

let real: RealGateway;
let scene: Scene;

async function ask(steering: Steering, draft: Record<string, unknown> = {}): Promise<string> {
  return scene.run(await scene.plan({ name: 'limited', payload_message: steer(steering), ...draft }));
}

async function runningAt(marker: string): Promise<void> {
  const seen = (): boolean => real.modelRequests().some(({ prompt }) => prompt.includes(marker));
  await eventually('the model is asked', 60_000, async () => (seen() ? true : null));
}

before(async () => {
  real = await startRealGateway();
  scene = await openServerOn(real, { SCHEDULER_HEARTBEAT_CHECK_MS: '5000' });
  const warm = await scene.ended(await ask({ say: 'warm' }), 60_000);
  assert.equal(warm.status, 'ok', warm.error_message ?? '');
});

after(async () => {
  await scene[Symbol.asyncDispose]();
  await real.stop();
});

test('turns that wait for a lane of the gateway have their whole time once they run', async () => {
  const turnMs = 20_000;
  const limit = { run_timeout_ms: 38_000 };
  const count = LANES + 3;
  const runs = Array.from({ length: count }, (_, n) => ask({ delayMs: turnMs, say: `lane ${n}` }, limit));
  const ended = await Promise.all(runs.map(async (id) => scene.ended(await id, 240_000)));
  assert.deepEqual(
    ended.map(({ status, error_message }) => error_message ?? status),
    Array.from({ length: count }, () => 'ok'),
  );
  // Otherwise none of them waited.
  assert.ok(Math.max(...ended.map(({ duration_ms }) => duration_ms ?? 0)) > limit.run_timeout_ms);
});

test('a turn that takes longer than its run may is stopped once it runs', async () => {
  const run = await scene.ended(
    await ask({ hang: true, say: 'too long' }, { run_timeout_ms: 6_000 }),
    60_000,
  );
  assert.equal(run.status, 'timeout');
});

test('an answer that the gateway finished during a downtime longer than the limit is taken [SC-27 SC-59]', async () => {
  const limit = { run_timeout_ms: 15_000, delivery_guarantee: 'at-least-once' };
  const id = await ask({ delayMs: 8_000, say: 'finished alone' }, limit);
  await runningAt('finished alone');
  await scene.server.kill('SIGKILL');
  await sleep(20_000);
  await scene.server.restart();
  const run = await scene.ended(id, 60_000);
  assert.deepEqual([run.status, run.output], ['ok', 'finished alone']);
  assert.equal((await scene.runs({ id: run.job_id })).length, 1);
});

test('an agent at a real gateway is told calls that work as they are printed', async () => {
  const id = await ask({ delayMs: 15_000, say: 'asked for more' });
  await runningAt('asked for more');
  const asked = real.modelRequests().find(({ prompt }) => prompt.includes('asked for more'));
  const spawn = asked?.prompt.split('\n').find((line) => line.startsWith('curl ') && line.includes('spawn'));
  const { stdout } = await promisify(execFile)('/bin/sh', [
    '-c',
    spawn ?? assert.fail('no call in the prompt'),
  ]);
  assert.equal((JSON.parse(stdout) as { kind: string }).kind, 'spawn');
  assert.equal((await scene.ended(id, 60_000)).status, 'ok');
  await eventually('the child was asked', 60_000, async () =>
    real
      .modelRequests()
      .some(({ prompt }) => prompt.includes('What is to be done.') && prompt.includes('follow up]'))
      ? true
      : null,
  );
});
