/** What a run was given besides its message, for whoever asks later what the agent saw. */

import { aliasesNamed } from '../domain/alias.ts';
import type { RunPlan } from '../domain/schedule.ts';

/** Names are those of the scheduler's text. Messages and earlier runs are not handed to agents. */
export function contextSummary({ schedule, trigger }: RunPlan): string {
  return JSON.stringify({
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
  });
}
