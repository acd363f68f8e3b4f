/** Does the jobs that are sessions which somebody asked this server for. */

import type { JobContext } from '../client/job-run.ts';
import type { Platform } from '../client/platform.ts';
import type { ClaimedJob } from '../client/types.ts';
import type { WorkerLog } from './ports.ts';
import type { Runner } from './runner.ts';
import { runSession } from './sessions/run-session.ts';
import type { SessionRunner } from './sessions/session.ts';
import { type OrderTerms, spawnedOrder } from './sessions/task-order.ts';

export interface SpawnedSessionsOptions {
  readonly platform: Platform;
  readonly runner: SessionRunner;
  readonly terms: Omit<OrderTerms, 'sessionId'>;
  /** Aborts when this server stops. */
  readonly over: AbortSignal;
  readonly log: WorkerLog;
}

export class SpawnedSessions implements Runner {
  readonly #options: SpawnedSessionsOptions;

  constructor(options: SpawnedSessionsOptions) {
    this.#options = options;
  }

  /** A session never outlives its server. */
  outlives(): boolean {
    return false;
  }

  readonly run = (job: ClaimedJob, context: JobContext): Promise<unknown> => {
    const { platform, runner, terms, over, log } = this.#options;
    const order = spawnedOrder(job, { ...terms, sessionId: job.title ?? job.id });
    // Whoever asked for its end goes by the end of its job.
    const onStuck = (isStuck: boolean): void =>
      log.warn(isStuck ? 'A session cannot be ended' : 'A session could be ended after all', {
        job: job.id,
        session: order.id,
      });
    // Its agent has no job to end: what it leaves is all there is.
    return runSession({ platform, runner, endedByAgent: async () => false, over, onStuck }, order, context);
  };
}
