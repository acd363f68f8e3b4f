import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { startDuties } from '../../src/app/duties.ts';
import { startEmbeddedWorkers } from '../../src/app/embedded-worker.ts';
import { log } from '../../src/channels/log.ts';
import { loadConfig } from '../../src/config.ts';
import type { Clock } from '../../src/domain/ports.ts';
import { openEngine } from '../../src/engine/open-engine.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { systemIds } from '../../src/runtime/ids.ts';
import { openSqlite } from '../../src/store/sqlite.ts';
import { until } from '../support/clock.ts';
import { create, HEAD, read } from '../support/engines.ts';
import { plan, statuses } from '../support/scheduling.ts';
import { MemoryLog } from './fixtures.ts';

/** A time limit that no test waits for: what was to happen at its end happens when the test says so. */
const LIMIT_MS = 3_600_000;

/** A server's inside with its loops and the shell worker, on the system's clock but for the limits of runs. */
async function open() {
  const limits: (() => void)[] = [];
  const real = systemClock();
  const clock: Clock = {
    now: () => real.now(),
    after: (delayMs, task) => {
      if (delayMs !== LIMIT_MS) return real.after(delayMs, task);
      limits.push(task);
      return () => undefined;
    },
  };
  const store = openSqlite({ file: ':memory:', identity: 'test' });
  const engine = openEngine({
    store,
    clock,
    ids: systemIds(),
    settings: { leaseMs: 300_000, maxAttempts: 5, maxUnfinishedJobs: 1_000_000 },
    scheduling: { shell: true, gateways: ['main'], chainDepth: 10 },
  });
  const problems: unknown[] = [];
  const duties = startDuties({
    core: engine.core,
    clock,
    reaperIntervalMs: 1_000,
    retentionMs: 1_000_000,
    tickMs: 10_000,
    messageDeliveryMs: 10_000,
    pruneMs: 60_000,
    stuckScanMs: 60_000,
    retryScanMs: 30_000,
    model: null,
    watchdog: { everyMs: 120_000, endSession: async () => undefined, onStale: () => undefined },
    notices: [],
    channelOf: () => log(() => undefined),
    files: [],
    forget: async () => undefined,
    onError: (_, error) => problems.push(error),
  });
  const config = loadConfig({ SPINE_SHELL: 'on', SPINE_GATEWAY: 'off' });
  const workers = await startEmbeddedWorkers({
    engine,
    config,
    clock,
    log: new MemoryLog(),
    url: 'http://x',
  });
  const folder = mkdtempSync(join(tmpdir(), 'spine-shell-'));
  return {
    engine,
    workers,
    folder,
    reachLimits: () => limits.splice(0).forEach((reach) => reach()),
    [Symbol.asyncDispose]: async () => {
      await workers.stop(3_000);
      engine.core.stopWaiting();
      await duties.stop();
      await engine.core.flusher.stop();
      await store.close();
      rmSync(folder, { recursive: true, force: true });
      assert.deepEqual(problems, []);
    },
  };
}

/** The command itself would take a minute. How long it takes exactly is in shell-process.test.ts. */
const SOON_MS = 20_000;

const shell = (command: string, draft: Record<string, unknown> = {}) => ({
  session_target: 'shell',
  payload_message: command,
  ...draft,
});

test('a shell schedule runs its command, and its child hears of it', async () => {
  // Before the server looks at its environment.
  process.env['OPENCLAW_GATEWAY_TOKEN'] = 'secret-of-the-gateway';
  await using spine = await open();
  const parent = await plan(spine, shell('echo found; env; exit 0'));
  const child = await plan(
    spine,
    shell('echo "$SPINE_TRIGGER_STATUS $SPINE_TRIGGER_EXIT_CODE"', { parent_id: parent.id }),
  );
  const job = await spine.engine.schedules.run(HEAD, parent.id);
  await until('the child is done', async () => (await statuses(spine, child))[0] === 'ok');
  delete process.env['OPENCLAW_GATEWAY_TOKEN'];
  const { result } = await spine.engine.runs.get(HEAD, job.id);
  assert.match(result ?? '', /found/);
  assert.doesNotMatch(result ?? '', /secret-of-the-gateway/);
  const [run] = await spine.engine.runs.list({ scheduleId: child.id, limit: 1 });
  assert.equal((JSON.parse(run?.result ?? '') as { stdout: string }).stdout, 'ok 0\n');
});

test('a command that is cancelled is gone soon, and what it was to do is not done', async () => {
  await using spine = await open();
  const [began, did] = [join(spine.folder, 'began'), join(spine.folder, 'did')];
  const made = await plan(spine, shell(`echo $$ > ${began}; sleep 60; touch ${did}`));
  await spine.engine.schedules.run(HEAD, made.id);
  await until('it has begun', () => existsSync(began) && readFileSync(began, 'utf8') !== '');
  const askedAt = performance.now();
  await spine.engine.schedules.cancel(HEAD, made.id, true);
  await until('it is cancelled', async () => (await statuses(spine, made))[0] === 'cancelled');
  assert.ok(performance.now() - askedAt < SOON_MS, `${performance.now() - askedAt} ms`);
  assert.throws(() => process.kill(Number(readFileSync(began, 'utf8')), 0), { code: 'ESRCH' });
  assert.equal(existsSync(did), false);
});

test('a command that runs out of time is told as timed out, with what it printed', async () => {
  await using spine = await open();
  const began = join(spine.folder, 'began');
  const made = await plan(spine, shell(`echo begun; touch ${began}; sleep 60`, { run_timeout_ms: LIMIT_MS }));
  const job = await spine.engine.schedules.run(HEAD, made.id);
  await until('it has begun', () => existsSync(began));
  spine.reachLimits();
  await until('it is over', async () => (await statuses(spine, made))[0] === 'timeout');
  assert.match((await spine.engine.runs.get(HEAD, job.id)).error ?? '', /begun/);
});

test('a job that somebody addressed to the shell is refused', async () => {
  await using spine = await open();
  const file = join(spine.folder, 'never');
  const job = await create(spine, { target: 'shell', spec: `touch ${file}` });
  await until('it has failed', async () => (await read(spine, job)).state === 'failed');
  assert.equal(existsSync(file), false);
});

test('a server that stops ends its commands, and no run stays running', async () => {
  const spine = await open();
  const made = await plan(spine, shell('sleep 30'));
  await spine.engine.schedules.run(HEAD, made.id);
  await until('it runs', async () => (await statuses(spine, made))[0] === 'running');
  await until('it is noted', async () => {
    const [run] = await spine.engine.runs.list({ scheduleId: made.id, limit: 1 });
    return run?.run.dispatchedAt !== null;
  });
  await spine.workers.stop(3_000);
  assert.deepEqual(await statuses(spine, made), ['crashed']);
  await spine[Symbol.asyncDispose]();
});

test('many commands are done one by one, and each once', async () => {
  await using spine = await open();
  const file = join(spine.folder, 'lines');
  const made = await plan(spine, shell(`echo x >> ${file}`, { overlap_policy: 'allow' }));
  await Promise.all(Array.from({ length: 200 }, () => spine.engine.schedules.run(HEAD, made.id)));
  await until('all are done', async () =>
    (await spine.engine.counts()).some(({ state, n }) => state === 'done' && n === 200),
  );
  assert.equal(readFileSync(file, 'utf8').length, 400);
});
