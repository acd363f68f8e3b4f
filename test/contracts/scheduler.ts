import { after, suite } from 'node:test';
import { approvalCases } from './scheduler-approvals.ts';
import { deliveryCases } from './scheduler-deliveries.ts';
import { messageCases } from './scheduler-messages.ts';
import { OFTEN, type SchedulerServer, type StartScheduler } from './scheduler-cases.ts';
import { runCases } from './scheduler-runs.ts';
import { scheduleCases } from './scheduler-schedules.ts';
import { sharing, withChecks } from './spine.ts';

export interface SchedulerStore {
  readonly name: string;
  /** Why the whole suite cannot run here. */
  readonly skip?: string | false;
  readonly cases: readonly Cases[];
  readonly start: StartScheduler;
}

type Cases = (start: StartScheduler) => void;

/** Runs and messages are also asked for with SQL, and approvals are decided by callers and by time at once. */
export const ON_EVERY_STORE: readonly Cases[] = [runCases, approvalCases, messageCases];

/** Doors know no store, and every command is tested on each below them: the rest of the contract is held once. */
export const WHOLE: readonly Cases[] = [...ON_EVERY_STORE, scheduleCases, deliveryCases];

/** What the scheduler promises over HTTP, held against a real listening server. */
export function schedulerContract({ name, skip = false, cases, start: startPlain }: SchedulerStore): void {
  const startOwn: StartScheduler = async (options = OFTEN) =>
    withChecks(await startPlain(options)) as SchedulerServer;
  suite(`the scheduler's contract over ${name}`, { skip }, () => {
    const { start, stop } = sharing(startOwn);
    after(stop);
    for (const declare of cases) declare(start);
  });
}
