/** What is kept of a prompt with its run: what it was made of, its hash, and the text as it may be shown. */

import { hash } from 'node:crypto';
import { contextSummary } from './context-summary.ts';
import type { PromptParts } from './prompt.ts';

/** Stands where the token of the run stood: whoever may read the prompt may not act for its agent. */
const HIDDEN = '<token of this run>';

export interface PromptRecord {
  readonly contextSummary: string;
  /** Of the very text that was sent, the token included. */
  readonly promptHash: string;
  readonly prompt: string;
}

export function recordOf(parts: PromptParts, sent: string): PromptRecord {
  const { access, plan, priorRuns, messages } = parts;
  const injected = { messagesInjected: messages.length, retrievalResults: priorRuns.length };
  return {
    contextSummary: contextSummary(plan, injected),
    promptHash: hash('sha256', sent, 'hex'),
    prompt: access === null ? sent : sent.replaceAll(access.token, HIDDEN),
  };
}
