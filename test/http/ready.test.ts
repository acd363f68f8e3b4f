import { deepStrictEqual, strictEqual } from 'node:assert';
import { test } from 'node:test';
import { unreadyBecause } from '../../src/app/readiness.ts';
import type { LoopStatus } from '../../src/loops/loop.ts';
import { openServer } from './server.ts';

const PULSE: LoopStatus = {
  name: 'pulse',
  everyMs: 1_000,
  runs: 7,
  lastRunAt: 10_000,
  lastDurationMs: 2,
  lastError: null,
  lastErrorCode: null,
  errors: 0,
};
const WELL = { store: { trouble: () => null }, stopping: false, started: true, pulse: PULSE, now: 11_000 };

test('a server is ready when the database answers and the last pulse was written', () => {
  strictEqual(unreadyBecause(WELL), null);
});

test('a server that is not ready says why', () => {
  const reasons = [
    { ...WELL, stopping: true },
    { ...WELL, store: { trouble: () => 'the database does not answer' } },
    { ...WELL, started: false },
    { ...WELL, pulse: { ...PULSE, lastRunAt: null } },
    { ...WELL, pulse: { ...PULSE, lastError: 'x', lastErrorCode: 'disk_full' } },
    { ...WELL, pulse: { ...PULSE, lastError: 'x', lastErrorCode: 'store_unavailable' } },
    { ...WELL, now: 16_000 },
  ].map((known) => unreadyBecause(known)?.reason);
  deepStrictEqual(reasons, ['stopping', 'database', 'starting', 'starting', 'disk_full', 'database', 'slow']);
});

test('a server that is not ready answers 503 with the reason, while it is up all the same', async (t) => {
  const problem = 'Not now: the database does not answer.';
  const spine = await openServer(t, () => ({ unready: () => ({ reason: 'database', problem }) }));
  const answer = await spine.anyone.get('/ready');
  strictEqual(answer.status, 503);
  strictEqual(answer.headers['retry-after'], '1');
  const { error, reason, message, retryable } = answer.body;
  deepStrictEqual([error, reason, message, retryable], ['unready', 'database', problem, true]);
  strictEqual((await spine.anyone.get('/health')).status, 200);
});
