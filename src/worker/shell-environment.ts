/** What a command finds in its environment: little of the server's, and what it needs to know of its run. */

import type { ClaimedJob } from '../client/types.ts';
import { idempotencyKey } from '../prompt/idempotency.ts';
import { isReplayed, type RunPlan, type TriggerContext } from '../prompt/plan.ts';

/** Linux takes 128 KiB for one variable; characters may take three bytes. */
const OUTPUT_CHARS = 20_000;

export interface ShellSurroundings {
  /** What is handed on from the server itself. */
  readonly inherited: Readonly<Record<string, string>>;
  readonly url: string;
}

export function shellEnvironment(
  { inherited, url }: ShellSurroundings,
  job: ClaimedJob,
  plan: RunPlan,
  firstRunId: string,
): Record<string, string> {
  return {
    ...inherited,
    SPINE_URL: url,
    SPINE_RUN_ID: job.id,
    // Stands for this attempt, and ends with it.
    SPINE_TOKEN: `run.${job.id}.${job.leaseToken}`,
    ...(job.traceparent !== undefined && { TRACEPARENT: job.traceparent }),
    ...(isReplayed(plan) && { SPINE_IDEMPOTENCY_KEY: idempotencyKey(plan, firstRunId) }),
    ...(plan.trigger && triggerEnvironment(plan.trigger)),
  };
}

function triggerEnvironment(trigger: TriggerContext): Record<string, string> {
  return {
    SPINE_TRIGGER_RUN_ID: trigger.runId,
    SPINE_TRIGGER_SCHEDULE_ID: trigger.scheduleId,
    SPINE_TRIGGER_NAME: clean(trigger.scheduleName),
    SPINE_TRIGGER_STATUS: trigger.status,
    SPINE_TRIGGER_OUTPUT: clean(trigger.output),
    ...(trigger.exitCode !== null && { SPINE_TRIGGER_EXIT_CODE: String(trigger.exitCode) }),
    ...(trigger.stderr !== null && { SPINE_TRIGGER_STDERR: clean(trigger.stderr) }),
  };
}

/** A variable ends at the first NUL. */
function clean(text: string): string {
  return text.replaceAll('\0', '').slice(0, OUTPUT_CHARS).toWellFormed();
}
