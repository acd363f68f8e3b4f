import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Attempt, backupDuty } from '../../src/loops/backup.ts';
import { Loop } from '../../src/loops/loop.ts';
import { FakeClock } from '../support/clock.ts';

const HOUR_MS = 3_600_000;
const MIN_MS = 60_000;
const START = Date.UTC(2026, 10, 17, 2, 5);

/** A maker that remembers what it was asked for, and fails when it is told to. */
function makeBench(everyMs = 5 * MIN_MS) {
  const clock = new FakeClock(START);
  const made: string[] = [];
  const state = { lastSnapshotAt: null as number | null, lastRollupAt: null as number | null };
  let next: Attempt = { made: true };
  const duty = backupDuty({
    everyMs,
    now: () => clock.now(),
    maker: {
      last: async () => ({ ...state }),
      make: async (kind, now) => {
        made.push(`${kind} ${(now - START) / MIN_MS}`);
        if (next.made || next.partly) state[kind === 'rollup' ? 'lastRollupAt' : 'lastSnapshotAt'] = now;
        return next;
      },
    },
  });
  const errors: string[] = [];
  const loop = new Loop(duty, clock, (_, error) => errors.push((error as Error).message));
  return { clock, made, state, duty, loop, errors, fail: (attempt: Attempt) => void (next = attempt) };
}

const broken: Attempt = { made: false, kind: 'unavailable', message: 'nobody is there', partly: false };

test('a snapshot is made every five minutes and a rollup in every hour [SC-73 SC-74]', async () => {
  const bench = makeBench();
  bench.loop.start();
  for (let minute = 0; minute < 120; minute++) await bench.clock.advance(MIN_MS);
  const of = (kind: string): string[] => bench.made.filter((each) => each.startsWith(kind));
  assert.deepEqual(of('rollup'), ['rollup 0', 'rollup 55', 'rollup 115']);
  assert.equal(of('snapshot').length, 25);
  assert.deepEqual(of('snapshot').slice(0, 3), ['snapshot 0', 'snapshot 5', 'snapshot 10']);
  await bench.loop.stop();
});

test('a start soon after the last snapshot waits for its time, and a clock that was set back puts nothing off [SC-73]', async () => {
  const { state, duty, made } = makeBench();
  state.lastSnapshotAt = START - 2 * MIN_MS;
  state.lastRollupAt = START;
  assert.deepEqual(await duty.runOnce(), { done: 0, more: false, nextInMs: 3 * MIN_MS });
  assert.deepEqual(made, []);
  state.lastSnapshotAt = START + HOUR_MS;
  assert.equal((await duty.runOnce()).done, 1);
});

test('a failure shows in the status of the loop and in the log, and is tried again soon [SC-15]', async () => {
  const bench = makeBench();
  bench.fail(broken);
  bench.loop.start();
  await bench.clock.advance(10);
  assert.equal(bench.loop.status().lastError, 'nobody is there');
  assert.deepEqual(bench.errors, ['nobody is there']);
  bench.fail({ made: true });
  await bench.clock.advance(2_000);
  assert.equal(bench.loop.status().lastError, null);
  assert.deepEqual(bench.made.length, 3);
  await bench.loop.stop();
});

test('a place that lacks its copy is told until the next snapshot, without another one in between [SC-15]', async () => {
  const bench = makeBench();
  bench.fail({ ...broken, partly: true });
  bench.loop.start();
  await bench.clock.advance(10);
  const made = bench.made.length;
  await bench.clock.advance(2 * MIN_MS);
  assert.equal(bench.loop.status().lastError, 'nobody is there');
  assert.equal(bench.made.length, made);
  bench.fail({ made: true });
  await bench.clock.advance(4 * MIN_MS);
  assert.equal(bench.loop.status().lastError, null);
  await bench.loop.stop();
});

test('while somebody makes one by hand it waits, and nothing is wrong [SC-15]', async () => {
  const { duty, fail } = makeBench();
  fail({ made: false, kind: 'busy', message: 'busy', partly: false });
  assert.deepEqual(await duty.runOnce(), { done: 0, more: false, nextInMs: 1_000 });
});
