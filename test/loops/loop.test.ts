import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SpineError } from '../../src/domain/error.ts';
import { Loop, type Pass } from '../../src/loops/loop.ts';
import { FakeClock, rest } from '../support/clock.ts';

const IDLE: Pass = { done: 0, more: false };

function loopOf(runOnce: () => Promise<Pass>, everyMs = 1_000) {
  const clock = new FakeClock();
  const errors: string[] = [];
  const loop = new Loop({ name: 'test', everyMs, runOnce }, clock, (name, error) =>
    errors.push(`${name}: ${String(error)}`),
  );
  return { loop, clock, errors };
}

test('a loop runs at once and then as often as it says', async () => {
  const at: number[] = [];
  const { loop, clock } = loopOf(async () => {
    at.push(clock.now());
    return IDLE;
  });
  const start = clock.now();
  loop.start();
  await clock.advance(2_500);
  assert.deepEqual(
    at.map((each) => each - start),
    [0, 1_000, 2_000],
  );
  await loop.stop();
  await clock.advance(9_000);
  assert.equal(at.length, 3);
  assert.equal(clock.pending, 0);
});

test('a loop never runs twice at once, whoever wakes it, and looks again after a wake-up in between', async () => {
  let running = 0;
  let most = 0;
  let runs = 0;
  let released = Promise.withResolvers<void>();
  const { loop, clock } = loopOf(async () => {
    runs += 1;
    most = Math.max(most, ++running);
    await released.promise;
    running -= 1;
    return IDLE;
  });
  loop.start();
  for (let i = 0; i < 5; i++) loop.wake();
  await clock.advance(5_000);
  assert.deepEqual([runs, most], [1, 1]);
  released.resolve();
  await clock.advance(0);
  assert.deepEqual([runs, most], [2, 1]);
  released = Promise.withResolvers<void>();
  released.resolve();
  await clock.advance(1_000);
  assert.equal(runs, 3);
  await loop.stop();
});

test('a wake-up between two passes runs the next one early, and the rhythm goes on from there', async () => {
  const at: number[] = [];
  const { loop, clock } = loopOf(async () => {
    at.push(clock.now());
    return IDLE;
  });
  const start = clock.now();
  loop.start();
  await clock.advance(400);
  loop.wake();
  await clock.advance(1_200);
  assert.deepEqual(
    at.map((each) => each - start),
    [0, 400, 1_400],
  );
  await loop.stop();
});

test('a loop goes on at once while there is more, and sooner when it knows of a moment', async () => {
  const passes: Pass[] = [
    { done: 1, more: true },
    { done: 1, more: false, nextInMs: 250 },
    { done: 0, more: false, nextInMs: 90_000 },
  ];
  const at: number[] = [];
  const { loop, clock } = loopOf(async () => {
    at.push(clock.now());
    return passes.shift() ?? IDLE;
  });
  const start = clock.now();
  loop.start();
  await clock.advance(1_300);
  assert.deepEqual(
    at.map((each) => each - start),
    [0, 0, 250, 1_250],
  );
  await loop.stop();
});

test('a loop that fails says so, backs off up to 30 s, and is itself again after a success', async () => {
  let broken = true;
  const at: number[] = [];
  const { loop, clock, errors } = loopOf(async () => {
    at.push(clock.now());
    if (broken) throw new Error('down');
    return IDLE;
  });
  const start = clock.now();
  loop.start();
  await clock.advance(100_000);
  assert.deepEqual(
    at.map((each) => (each - start) / 1_000),
    [0, 1, 3, 7, 15, 31, 61, 91],
  );
  assert.equal(errors.length, 8);
  assert.equal(errors[0], 'test: Error: down');
  assert.equal(loop.status().lastError, 'down');
  broken = false;
  await clock.advance(30_000);
  const before = at.length;
  await clock.advance(3_000);
  assert.equal(at.length, before + 3);
  assert.equal(loop.status().lastError, null);
  await loop.stop();
});

test('stopping waits for the pass under way, and nothing runs after it', async () => {
  const released = Promise.withResolvers<void>();
  let ended = 0;
  const { loop, clock } = loopOf(async () => {
    await released.promise;
    ended += 1;
    return { done: 1, more: true };
  });
  loop.start();
  let stopped = false;
  const stop = loop.stop().then(() => (stopped = true));
  loop.wake();
  await rest();
  assert.equal(stopped, false);
  released.resolve();
  await stop;
  assert.equal(ended, 1);
  await clock.advance(60_000);
  assert.equal(ended, 1);
});

test('a loop tells how it is doing', async () => {
  const { loop, clock } = loopOf(async () => IDLE, 700);
  assert.deepEqual(loop.status(), {
    name: 'test',
    everyMs: 700,
    runs: 0,
    lastRunAt: null,
    lastDurationMs: null,
    lastError: null,
    lastErrorCode: null,
    errors: 0,
  });
  const start = clock.now();
  loop.start();
  await clock.advance(700);
  assert.deepEqual(loop.status(), {
    name: 'test',
    everyMs: 700,
    runs: 2,
    lastRunAt: start + 700,
    lastDurationMs: 0,
    lastError: null,
    lastErrorCode: null,
    errors: 0,
  });
  await loop.stop();
});

test('a loop whose store is away tries again every second, tells of it once, and runs at once when it is back', async () => {
  let away = true;
  const at: number[] = [];
  const { loop, clock, errors } = loopOf(async () => {
    at.push(clock.now());
    if (away) throw new SpineError('store_unavailable');
    return IDLE;
  }, 60_000);
  const start = clock.now();
  loop.start();
  await clock.advance(120_500);
  assert.equal(at.length, 121);
  assert.equal(errors.length, 1);
  away = false;
  loop.wake();
  await rest();
  assert.equal((at.at(-1) ?? 0) - start, 120_500);
  assert.equal(loop.status().lastError, null);
  await loop.stop();
});
