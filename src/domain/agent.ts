/** The agent: who sends and receives messages. A worker's name, and the agent of a schedule, is the id of one. */

export interface Agent {
  readonly id: string;
  readonly name: string | null;
  /** What it did when it was heard last. */
  readonly status: 'idle' | 'busy';
  readonly lastSeenAt: number | null;
  readonly capabilities: readonly string[] | null;
  /** Somebody registered it; others are known because they were heard. */
  readonly registered: boolean;
  readonly createdAt: number;
}

export type AgentStatus = Agent['status'] | 'offline';

/** A worker that waits for work calls every minute at the latest. */
const OFFLINE_MS = 300_000;

export function agentStatus({ status, lastSeenAt }: Agent, now: number): AgentStatus {
  return lastSeenAt === null || lastSeenAt <= now - OFFLINE_MS ? 'offline' : status;
}
