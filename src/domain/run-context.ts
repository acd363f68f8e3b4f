/** What a run is given besides its message, as far as its plan says it. Names are those of the scheduler's text. */

import { aliasesNamed } from './alias.ts';
import type { RunPlan } from './schedule.ts';

export type RunContext = Readonly<Record<string, unknown>>;

export function contextOf({ schedule, trigger }: RunPlan): RunContext {
  return {
    messages_injected: 0,
    scope: schedule.payloadScope,
    aliases_resolved: aliasesNamed(schedule),
    job_class: schedule.jobClass,
    delivery_guarantee: schedule.deliveryGuarantee,
    context_retrieval: schedule.contextRetrieval,
    retrieval_results: 0,
    ...(schedule.payloadModel !== null && { payload_model: schedule.payloadModel }),
    ...(schedule.payloadThinking !== null && { payload_thinking: schedule.payloadThinking }),
    ...(trigger !== null && { triggered_by_run: trigger.runId, parent_status: trigger.status }),
  };
}
