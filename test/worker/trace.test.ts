import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shellEnvironment } from '../../src/worker/shell-environment.ts';
import { spawnedOrder, taskOrder } from '../../src/worker/sessions/task-order.ts';
import { claimedJob } from '../client/support.ts';
import { planOf, runJob } from './fixtures.ts';

const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const TERMS = {
  sessionId: 's',
  url: 'http://127.0.0.1:1',
  defaultDir: null,
  timeoutMs: 1,
  timeoutMaxMs: 1,
  leaseMs: 1,
  nonce: 'n',
  mayAsk: false,
  tokenInPrompt: false,
};

test('commands and sessions find the trace of their job in their environment, where it has one [WK-39]', () => {
  const plan = planOf({ payload_message: undefined, command: 'true' });
  const surroundings = { inherited: {}, url: 'http://127.0.0.1:1' };
  const envOf = (traced: { readonly traceparent?: string }) => [
    shellEnvironment(surroundings, runJob(plan, traced), plan, 'run-1'),
    taskOrder(claimedJob(traced), TERMS).env,
    spawnedOrder(claimedJob(traced), TERMS).env,
  ];
  for (const env of envOf({ traceparent: TRACEPARENT })) assert.equal(env['TRACEPARENT'], TRACEPARENT);
  for (const env of envOf({})) assert.equal('TRACEPARENT' in env, false);
});
