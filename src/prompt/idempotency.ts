/** A key that is the same for everything that stands for one occasion: the run, its retries, its replays. */

import { hash } from 'node:crypto';
import type { RunPlan } from '../domain/schedule.ts';

const KEY_CHARS = 32;

/** The occasion is the tick, the parent's run, or the first run itself when a hand started it. */
export function idempotencyKey({ schedule, dueAt, trigger }: RunPlan, firstRunId: string): string {
  const occasion = dueAt ?? trigger?.runId ?? firstRunId;
  return hash('sha256', `${schedule.id}\n${occasion}`, 'hex').slice(0, KEY_CHARS);
}

export function idempotencySection(plan: RunPlan, firstRunId: string): string | null {
  if (plan.schedule.deliveryGuarantee !== 'at-least-once') return null;
  return `[IDEMPOTENCY KEY: ${idempotencyKey(plan, firstRunId)}]
This job is delivered at least once: after a crash the same work may come a second time.
Before you do anything that cannot be undone, check whether work under this key was done already.
If it was, do not do it again: respond with IDEMPOTENT_SKIP`;
}
