/** The embedded workers of an engine, at a gateway that does what its test says. */

import assert from 'node:assert/strict';
import { type EmbeddedWorkers, startEmbeddedWorkers } from '../../src/app/embedded-worker.ts';
import { loadConfig } from '../../src/config.ts';
import type { Job } from '../../src/domain/job.ts';
import type { Schedule } from '../../src/domain/schedule.ts';
import { until } from '../support/clock.ts';
import { type Opened, read } from '../support/engines.ts';
import { plan } from '../support/scheduling.ts';
import { MemoryLog, passing } from './fixtures.ts';
import type { ScriptedGateway } from './scripted-gateway.ts';

export interface Served extends AsyncDisposable {
  readonly workers: EmbeddedWorkers;
  readonly log: MemoryLog;
  readonly stop: () => Promise<void>;
}

export async function serve(
  spine: Opened,
  gateway: ScriptedGateway,
  env: Readonly<Record<string, string>> = {},
): Promise<Served> {
  const log = new MemoryLog();
  const workers = await startEmbeddedWorkers({
    engine: spine.engine,
    config: loadConfig(env),
    clock: spine.clock,
    log,
    url: 'http://127.0.0.1:1',
    open: () => gateway,
  });
  let stopped: Promise<void> | null = null;
  const stop = (): Promise<void> => (stopped ??= passing(spine, workers.stop(3_000)));
  return { workers, log, stop, [Symbol.asyncDispose]: stop };
}

export function agentJob(spine: Opened, draft: Record<string, unknown> = {}): Promise<Schedule> {
  return plan(spine, { session_target: 'isolated', payload_message: 'Do it.', ...draft });
}

export async function turn(gateway: ScriptedGateway, at = 0) {
  await until(`turn ${at + 1} was sent`, () => gateway.turns.length > at);
  return gateway.turns[at] ?? assert.fail('no turn');
}

export const ended = (spine: Opened, job: Pick<Job, 'id'>) =>
  until('the run has ended', async () => (await read(spine, job)).finishedAt !== null);
