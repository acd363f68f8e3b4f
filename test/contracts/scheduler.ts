import { suite } from 'node:test';
import { approvalCases } from './scheduler-approvals.ts';
import { deliveryCases } from './scheduler-deliveries.ts';
import type { SchedulerServer, StartScheduler } from './scheduler-cases.ts';
import { runCases } from './scheduler-runs.ts';
import { scheduleCases } from './scheduler-schedules.ts';
import { withChecks } from './spine.ts';

export interface SchedulerStore {
  readonly name: string;
  /** Why the whole suite cannot run here. */
  readonly skip?: string | false;
  readonly start: StartScheduler;
}

/** What the scheduler promises over HTTP, held against a real listening server. */
export function schedulerContract({ name, skip = false, start: startPlain }: SchedulerStore): void {
  const start: StartScheduler = async (options) => withChecks(await startPlain(options)) as SchedulerServer;
  suite(`the scheduler's contract over ${name}`, { skip }, () => {
    scheduleCases(start);
    runCases(start);
    approvalCases(start);
    deliveryCases(start);
  });
}
