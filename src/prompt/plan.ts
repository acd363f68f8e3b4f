/** What a worker knows of the run that it does: the plan that the schedule sent along as the job's meta. */

import type { RunPlan } from '../domain/schedule.ts';

export { askOf, sentinelOf } from '../domain/output.ts';
export type { RunPlan, TriggerContext } from '../domain/schedule.ts';

/** Only the scheduler gives a job a schedule. A plan in the meta of any other job is somebody's invention. */
export function planOf(job: { readonly scheduleId?: string; readonly meta: unknown }): RunPlan | null {
  // Written by the engine itself, so that its shape is its promise.
  return job.scheduleId === undefined ? null : (job.meta as RunPlan);
}

/** Whether a run that died half done is to be done again. */
export function isReplayed(plan: RunPlan): boolean {
  return plan.schedule.deliveryGuarantee === 'at-least-once';
}
