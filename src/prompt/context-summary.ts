/** What a run was given besides its message, for whoever asks later what the agent saw. */

import { contextOf } from '../domain/run-context.ts';
import type { RunPlan } from '../domain/schedule.ts';

/** What was found for this very dispatch; nothing for whoever is given no prompt. */
export interface Injected {
  readonly messagesInjected?: number;
  readonly retrievalResults?: number;
}

export function contextSummary(plan: RunPlan, injected: Injected = {}): string {
  const { messagesInjected = 0, retrievalResults = 0 } = injected;
  return JSON.stringify({
    ...contextOf(plan),
    messages_injected: messagesInjected,
    retrieval_results: retrievalResults,
  });
}
