/** What a run was given besides its message, for whoever asks later what the agent saw. */

import type { RunPlan } from '../domain/schedule.ts';

export interface InjectedCounts {
  readonly messages: number;
  readonly priorRuns: number;
}

/** Names are those of the scheduler's text. */
export function contextSummary({ schedule, trigger }: RunPlan, injected: InjectedCounts): string {
  return JSON.stringify({
    messages_injected: injected.messages,
    scope: schedule.payloadScope,
    aliases_resolved: [],
    job_class: schedule.jobClass,
    delivery_guarantee: schedule.deliveryGuarantee,
    context_retrieval: schedule.contextRetrieval,
    retrieval_results: injected.priorRuns,
    ...(schedule.payloadModel !== null && { payload_model: schedule.payloadModel }),
    ...(schedule.payloadThinking !== null && { payload_thinking: schedule.payloadThinking }),
    ...(trigger !== null && { triggered_by_run: trigger.runId, parent_status: trigger.status }),
  });
}
