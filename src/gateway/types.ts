/** What a runner sees of a gateway: one agent's turn, its result, and what can be seen of it while it runs. */

import type { Clock } from '../domain/ports.ts';

/** `websocket` survives our disconnect and shows activity; `chat` is POST /v1/chat/completions, where a disconnect stops the turn. */
export type Transport = 'websocket' | 'chat';

export interface Turn {
  readonly agentId: string;
  /** Such as `scheduler:<schedule>:<run>:<attempt>`; the gateway puts `agent:<id>:` before it and lower-cases it. */
  readonly sessionKey: string;
  /** Idempotency key over the WebSocket: run id and attempt. A gateway fails a key that it knew before a restart. */
  readonly runKey: string;
  readonly message: string;
  /** A `provider/model` that overrides the agent's own; null or `openclaw:<agent>` leaves it to the agent. */
  readonly model: string | null;
  /** How hard to think. Chat completions has no field for it. */
  readonly thinking: string | null;
  /** Ends the turn at the gateway, rounded up to seconds. Chat completions has no field for it. */
  readonly timeoutMs: number | null;
}

/** `sessionKey` is the gateway's full name of the session, null where it did not say. */
export interface TurnResult {
  readonly text: string;
  readonly usage: Usage | null;
  readonly sessionKey: string | null;
}

export interface Usage {
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly totalTokens: number | null;
}

/** Enough to find a turn again after a restart of either side. */
export interface TurnRef {
  readonly agentId: string;
  readonly sessionKey: string;
  readonly runKey: string;
  readonly transport: Transport;
  readonly startedAt: number;
}

/** A session, where any run in it is meant. */
export type SessionRef = Pick<TurnRef, 'agentId' | 'sessionKey'>;

/**
 * What the gateway shows of a turn. `mark` changes whenever there was activity; it is null where the gateway gives
 * no sign of activity (a chat turn, a turn that waits for a free lane), and then silence means nothing.
 * `unknown` is a gateway that cannot be asked, or a session that was cut off by a crash and not resumed yet.
 */
export interface Activity {
  readonly status: 'queued' | 'running' | 'ended' | 'absent' | 'unknown';
  readonly mark: string | null;
  /** The tool that runs now. One tool call gives no activity until it ends. */
  readonly tool: string | null;
}

export interface Readiness {
  readonly ready: boolean;
  readonly why: string | null;
}

/** One OpenClaw gateway. Everything but `readiness` and `activity` fails with a GatewayError. */
export interface Gateway {
  readonly name: string;
  /** GET /readyz: a gateway that drains is live and healthy, and takes nothing; neither does one that refuses our token. Never throws. */
  readiness(): Promise<Readiness>;
  /** `websocket` when the gateway offers `agent` and `agent.wait` to us, `chat` otherwise. Remembered for a while, and looked at again after a failure. */
  transport(): Promise<Transport>;
  /** Runs a turn to its end. `accepted` is called once the gateway has taken it. Aborting the signal stops the turn at the gateway. */
  run(turn: Turn, transport: Transport, signal: AbortSignal, accepted: () => void): Promise<TurnResult>;
  /** Never throws: monitoring that fails says `unknown`. */
  activity(turn: TurnRef): Promise<Activity>;
  /** Waits for a turn that is under way already (ours from before a crash, or resumed by the gateway) and takes its last answer. */
  follow(turn: TurnRef, signal: AbortSignal): Promise<TurnResult>;
  /** Stops whatever runs in the session. Without a WebSocket only a chat turn of this process can be stopped. */
  abort(session: SessionRef): Promise<'aborted' | 'idle'>;
  /** Puts a text into an agent's main session: POST /hooks/wake with a hook token, the `openclaw system event` command without. */
  wake(text: string, agentId: string): Promise<void>;
  close(): Promise<void>;
}

export interface GatewayOptions {
  readonly name: string;
  /** Such as `http://127.0.0.1:18789`. */
  readonly url: string;
  readonly token: string | null;
  readonly hookToken: string | null;
  /** The OpenClaw command, usually `openclaw`. */
  readonly cli: string;
  /** What that command finds in its environment. */
  readonly cliEnv: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly limits?: Partial<GatewayLimits>;
}

/** How long to wait for what. Only a turn itself has no limit here. */
export interface GatewayLimits {
  readonly readinessMs: number;
  readonly connectMs: number;
  /** An answer over the WebSocket, or from /tools/invoke and /hooks. */
  readonly requestMs: number;
  /** One `agent.wait`, which is asked again until the turn has ended. */
  readonly waitMs: number;
  readonly commandMs: number;
  /** How often `follow` looks. */
  readonly pollMs: number;
  /** How long a turn that a crash cut off may stay without a sign of life. The gateway resumes its sessions one after the other. */
  readonly resumeMs: number;
  readonly rememberMs: number;
}

export const DEFAULT_LIMITS: GatewayLimits = {
  readinessMs: 5_000,
  connectMs: 10_000,
  requestMs: 30_000,
  waitMs: 20_000,
  commandMs: 30_000,
  pollMs: 2_000,
  resumeMs: 300_000,
  rememberMs: 60_000,
};
