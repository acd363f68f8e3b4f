/** graphile-worker, with its local queue and batched completions or, as it comes, without. */

import { Pool } from 'pg';
import type { Payload } from '../measure.ts';
import { type Place, type Queue, urlOf } from '../queue.ts';
import { installed } from './installed.ts';

interface Graphile {
  Logger: new (log: () => () => void) => object;
  readonly runMigrations: (options: object) => Promise<void>;
  readonly makeWorkerUtils: (options: object) => Promise<{
    addJob(task: string, payload: object): Promise<unknown>;
    addJobs(jobs: readonly object[]): Promise<unknown>;
    release(): Promise<void>;
  }>;
  readonly run: (options: object) => Promise<{ stop(): Promise<void> }>;
}

const CONCURRENCY = { concurrentJobs: 24, maxPoolSize: 25 };
const BATCHING = {
  localQueue: { size: 500, refetchDelay: { durationMs: 10 } },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
};

export async function openGraphile(place: Place, batching: boolean): Promise<Queue> {
  const { Logger, runMigrations, makeWorkerUtils, run } = await installed<Graphile>('graphile-worker');
  const logger = new Logger(() => () => undefined);
  const pgPool = new Pool({ connectionString: urlOf(place), max: CONCURRENCY.maxPoolSize });
  // graphile-worker asks for this, so that a broken idle connection does not end the process.
  pgPool.on('error', () => undefined);
  pgPool.on('connect', (client) => client.on('error', () => undefined));
  await runMigrations({ pgPool, logger });
  const utils = await makeWorkerUtils({ pgPool, logger });
  const preset = { worker: { ...CONCURRENCY, ...(batching ? BATCHING : {}) } };
  return {
    add: (payload) => utils.addJob('job', payload),
    addMany: (payloads) => utils.addJobs(payloads.map((payload) => ({ identifier: 'job', payload }))),
    work: async (handle) => {
      const taskList = { job: async (input: unknown) => handle(input as Payload) };
      return run({ preset, pgPool, logger, noHandleSignals: true, taskList });
    },
    // Completed jobs are deleted.
    left: async () => {
      const { rows } = await pgPool.query<{ n: number }>(
        'select count(*)::int as n from graphile_worker._private_jobs',
      );
      return rows[0]?.n ?? Number.NaN;
    },
    close: async () => {
      await utils.release();
      await pgPool.end();
    },
  };
}
