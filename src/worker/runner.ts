/** How one kind of work is done. */

import type { Handler } from '../client/typed-jobs.ts';

export interface Runner {
  readonly run: Handler;
  /** Whether the work goes on without this process, so that a stopping server need not wait for it. */
  outlives(jobId: string): boolean;
}
