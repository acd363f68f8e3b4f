import { Runs, type Plan } from './runs.ts';

/** One request as it came in: over HTTP, or as a frame (`method` RPC, the path is the method's name). */
export interface Recorded {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: unknown;
  readonly at: number;
  endedAt: number | null;
  /** The client went away before the answer. */
  aborted: boolean;
}

/** How the stand-in behaves. A test may change any of it at any time. */
export interface StandInState {
  readonly token: string | null;
  readonly hookToken: string;
  readonly agents: readonly string[];
  readonly runs: Runs;
  readonly recorded: Recorded[];
  /** What the agent does with a message. */
  plan: (message: string) => Plan;
  /** Takes whatever token comes. */
  anyToken: boolean;
  websocket: boolean;
  chatCompletions: boolean;
  draining: boolean;
  /** Gateways of the past had neither /readyz nor a session's status, and changed `updatedAt` during a turn. */
  old: boolean;
  monitoring: 'works' | 'fails' | 'garbage';
  /** What its message tool has sent, and with which status it refuses the next ones. */
  readonly messages: { channel: string; target: string; text: string }[];
  readonly messageFailures: number[];
  /** Methods and paths that are never answered. */
  readonly silent: Set<string>;
  /** What one frame may have. */
  maxPayload: number;
}

export function newState(token: string | null): StandInState {
  const state: StandInState = {
    token,
    hookToken: 'hook-token-of-the-stand-in',
    agents: ['main', 'ops'],
    runs: new Runs((message) => state.plan(message)),
    recorded: [],
    plan: () => ({}),
    anyToken: false,
    websocket: true,
    chatCompletions: true,
    draining: false,
    old: false,
    monitoring: 'works',
    messages: [],
    messageFailures: [],
    silent: new Set(),
    maxPayload: 25 * 1024 * 1024,
  };
  return state;
}

export function fullKey(agentId: string, sessionKey: string): string {
  return (sessionKey.startsWith('agent:') ? sessionKey : `agent:${agentId}:${sessionKey}`).toLowerCase();
}
