/** Waits for one turn, watches it, and stops it when it is stale or its job must stop. */

import { JobInterrupted, PutOff } from '../client/errors.ts';
import type { JobContext } from '../client/job-run.ts';
import type { Platform } from '../client/platform.ts';
import { type Gateway, GatewayError, type TurnRef, type TurnResult } from '../gateway/gateway.ts';
import type { Assignment } from './assignment.ts';
import { rejection, within } from './time-limit.ts';
import { crashed } from './gateway-failure.ts';
import { watch } from './gateway-watch.ts';
import type { RunNotes } from './ports.ts';

export interface AttendHost {
  readonly gateway: Pick<Gateway, 'activity'>;
  readonly platform: Platform;
  readonly notes: RunNotes;
  /** For schedules that say nothing else. */
  readonly staleThresholdMs: number;
  readonly checkMs: number;
}

/** The part of a handler's context that a turn needs. */
export type TurnContext = Pick<JobContext, 'signal' | 'started'>;

/** Sends a turn, or follows one. Aborting the signal stops the turn at the gateway. */
export type BeginTurn = (stop: AbortSignal) => Promise<TurnResult>;

/** How long a gateway gets to stop a turn before we go on without its answer. */
const STOP_MS = 5_000;

export async function attended(
  host: AttendHost,
  assignment: Assignment,
  turn: TurnRef,
  begin: BeginTurn,
  { signal, started }: TurnContext,
): Promise<TurnResult> {
  const { gateway, platform, notes, checkMs } = host;
  const { job, replayed } = assignment;
  const thresholdMs = thresholdOf(host, assignment);
  // The lease has its own heartbeat, which notices when the server cannot be reached.
  const alive = (): Promise<void> => notes.heartbeat(job).catch(() => undefined);
  const stop = new AbortController();
  const over = new AbortController();
  const work = begin(stop.signal);
  try {
    const interrupted = rejection(signal, over.signal);
    const watching = watch({ gateway, platform, thresholdMs, checkMs, alive, started }, turn, over.signal);
    return await Promise.race([work, watching.then(() => interrupted), interrupted]);
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    if (goesOnWithoutUs(turn, error)) throw leftBehind(assignment, error);
    stop.abort(error);
    await within(platform, STOP_MS, work);
    const isShutdown = error instanceof JobInterrupted && error.why === 'shutdown';
    throw isShutdown ? crashed('The server stopped during this turn.', replayed) : error;
  } finally {
    over.abort();
  }
}

/** A job of the queue counts what is given back as an attempt, and the next holder looks for the attempt's session. */
function leftBehind({ plan }: Assignment, error: unknown): unknown {
  return plan === null ? new PutOff(0, 'the server stops, and the turn goes on without it') : error;
}

function thresholdOf({ staleThresholdMs }: AttendHost, { plan }: Assignment): number {
  if (plan === null) return staleThresholdMs;
  const { staleThresholdS, payloadTimeoutSeconds } = plan.schedule;
  return staleThresholdS === null
    ? Math.min(staleThresholdMs, payloadTimeoutSeconds * 1_000)
    : staleThresholdS * 1_000;
}

/** Over the WebSocket a turn runs on at the gateway; whoever holds the job next adopts it. */
function goesOnWithoutUs(turn: TurnRef, error: unknown): boolean {
  if (turn.transport !== 'websocket' || !(error instanceof JobInterrupted)) return false;
  return error.why === 'shutdown' || error.why === 'lease_lost';
}
