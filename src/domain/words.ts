/** One total mapping from native states to every door's own words. */

import type { Job, State } from './job.ts';

export type SpineStatus = 'queued' | 'running' | 'done' | 'failed' | 'dead';
export type ClawdbotStatus = 'pending' | 'in_progress' | 'completed' | 'failed';
export type BridgeStatus = 'todo' | 'in-progress' | 'review' | 'done' | 'blocked';
export type RunStatus =
  | 'pending'
  | 'awaiting_approval'
  | 'running'
  | 'ok'
  | 'error'
  | 'timeout'
  | 'crashed'
  | 'cancelled'
  | 'skipped';

interface Words {
  readonly spine: SpineStatus;
  readonly clawdbot: ClawdbotStatus;
  readonly bridge: BridgeStatus;
  /** Null where the scheduler's door does not show the job at all. */
  readonly run: RunStatus | null;
}

export const WORDS: Readonly<Record<State, Words>> = {
  scheduled: { spine: 'queued', clawdbot: 'pending', bridge: 'todo', run: null },
  blocked: { spine: 'queued', clawdbot: 'pending', bridge: 'todo', run: null },
  awaiting_approval: { spine: 'queued', clawdbot: 'pending', bridge: 'review', run: 'awaiting_approval' },
  queued: { spine: 'queued', clawdbot: 'pending', bridge: 'todo', run: 'pending' },
  running: { spine: 'running', clawdbot: 'in_progress', bridge: 'in-progress', run: 'running' },
  done: { spine: 'done', clawdbot: 'completed', bridge: 'done', run: 'ok' },
  failed: { spine: 'failed', clawdbot: 'failed', bridge: 'blocked', run: 'error' },
  dead: { spine: 'dead', clawdbot: 'failed', bridge: 'blocked', run: 'error' },
  cancelled: { spine: 'failed', clawdbot: 'failed', bridge: 'blocked', run: 'cancelled' },
  skipped: { spine: 'dead', clawdbot: 'failed', bridge: 'blocked', run: 'skipped' },
};

/** How a run looks at the scheduler's door, where a failure says what kind it was. */
export function runStatusOf({ state, cause }: Pick<Job, 'state' | 'cause'>): RunStatus {
  const word = WORDS[state].run ?? 'pending';
  if (word !== 'error' || cause === null) return word;
  return cause === 'crashed' ? 'crashed' : 'timeout';
}

export const SPINE_STATUSES = [
  'queued',
  'running',
  'done',
  'failed',
  'dead',
] as const satisfies SpineStatus[];

/** The native states that the Spine door shows under one word. */
export function statesShownAs(status: SpineStatus): State[] {
  return (Object.keys(WORDS) as State[]).filter((state) => WORDS[state].spine === status);
}
