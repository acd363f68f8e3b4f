/** What a run is given besides its message, as far as its plan says it. Names are those of the scheduler's text. */

import { aliasesNamed } from './alias.ts';
import type { State } from './job.ts';
import type { RunPlan } from './schedule.ts';

type RunContext = Readonly<Record<string, unknown>>;

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

/**
 * The worker of a queue writes nothing down: all that its run has to go by is known when it is made. Null for the others, who
 * say it when they begin, and for runs that were left out.
 */
export function contextAtFiring(plan: RunPlan, state: State): string | null {
  if (plan.schedule.sessionTarget !== 'queue' || state === 'skipped') return null;
  return JSON.stringify(contextOf(plan));
}

/** The same of a job that was found on disk, whose plan may have been touched. */
export function contextOfFound(meta: unknown, state: State): string | null {
  const { schedule, trigger } = (meta ?? {}) as Partial<RunPlan>;
  if (schedule?.deliveryTo === undefined || trigger === undefined) return null;
  return contextAtFiring(meta as RunPlan, state);
}
