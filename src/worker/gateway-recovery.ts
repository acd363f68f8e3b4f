/** After a crash of ours or of the gateway: look at the session first, and take its answer where there is one. */

import { type Interruption, JobInterrupted, PutOff } from '../client/errors.ts';
import { type Platform, sleep } from '../client/platform.ts';
import {
  type Activity,
  type Gateway,
  GatewayError,
  type TurnRef,
  type TurnResult,
} from '../gateway/gateway.ts';
import type { Assignment } from './assignment.ts';
import { within } from './time-limit.ts';
import { crashed } from './gateway-failure.ts';
import type { WorkerLog } from './ports.ts';

export interface RecoveryHost {
  readonly gateway: Gateway;
  readonly platform: Platform;
  readonly log: WorkerLog;
  /** Waits for a turn that runs already, under the same watch as one of our own. */
  readonly follow: (turn: TurnRef) => Promise<TurnResult>;
}

/** `lost`: the connection broke under us. `restart`: whoever sent it is gone, and this is the next holder. */
export type Occasion = 'lost' | 'restart';

const LOOK_EVERY_MS = 2_000;
/** A gateway that comes back resumes its sessions by itself, one after the other. */
const RESUME_MS = 45_000;
/** What can neither be seen nor ruled out is given up after this. */
const GIVE_UP_MS = 600_000;
const PUT_OFF_MS = 5_000;
const ABORT_MS = 5_000;

/** The turn's own answer, or a failure that says whether it is to be done again. Null: a plain job that was never sent. */
export async function recover(
  host: RecoveryHost,
  assignment: Assignment,
  turn: TurnRef,
  occasion: Occasion,
  signal: AbortSignal,
): Promise<TurnResult | null> {
  const { log, gateway } = host;
  const facts = { job: assignment.job.id, gateway: gateway.name, session: turn.sessionKey, occasion };
  if (await isThereNow(host, turn, occasion, signal)) {
    log.warn('Adopted a turn that the gateway still has', facts);
    try {
      return await host.follow(turn);
    } catch (error) {
      if (!isGone(error)) throw error;
    }
  }
  if (assignment.plan === null && occasion === 'restart') return null;
  if (assignment.replayed) await within(host.platform, ABORT_MS, gateway.abort(turn));
  log.warn(
    assignment.replayed ? 'A run crashed and is replayed' : 'A run crashed and is not replayed',
    facts,
  );
  throw crashed(CRASHED[occasion], assignment.replayed);
}

async function isThereNow(
  host: RecoveryHost,
  turn: TurnRef,
  occasion: Occasion,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await ready(host, occasion, signal);
    return await isThere(host, turn, occasion, signal);
  } catch (error) {
    // Nobody wants the turn any more, wherever it is.
    const unwanted = error instanceof JobInterrupted && UNWANTED.includes(error.why);
    if (unwanted) await within(host.platform, ABORT_MS, host.gateway.abort(turn));
    throw error;
  }
}

const UNWANTED: readonly Interruption[] = ['cancelled', 'timeout'];

const CRASHED: Readonly<Record<Occasion, string>> = {
  lost: 'The connection to the gateway broke, and the gateway does not have the turn any more.',
  restart: 'The server stopped during this run, and the gateway does not have the turn any more.',
};

/** A gateway that is away says nothing about the turn, so the job waits for it. */
async function ready(
  { gateway, platform }: RecoveryHost,
  occasion: Occasion,
  signal: AbortSignal,
): Promise<void> {
  const endsAt = platform.nowMs() + (occasion === 'lost' ? GIVE_UP_MS : 0);
  for (;;) {
    const { ready, why } = await gateway.readiness();
    if (ready) return;
    if (platform.nowMs() >= endsAt) throw new PutOff(PUT_OFF_MS, `the gateway is not ready: ${why}`);
    await sleep(platform, LOOK_EVERY_MS, signal);
  }
}

async function isThere(
  { gateway, platform }: RecoveryHost,
  turn: TurnRef,
  occasion: Occasion,
  signal: AbortSignal,
): Promise<boolean> {
  const startedAt = platform.nowMs();
  for (;;) {
    const { status } = await gateway.activity(turn);
    // Whoever dispatched a chat turn stopped it by going away; only a gateway that crashed too has begun it anew.
    if (occasion === 'restart' && turn.transport === 'chat') return isUnderWay(status);
    if (isUnderWay(status) || status === 'ended') return true;
    if (platform.nowMs() - startedAt >= patienceMs(status, occasion)) return false;
    await sleep(platform, LOOK_EVERY_MS, signal);
  }
}

function isUnderWay(status: Activity['status']): boolean {
  return status === 'running' || status === 'queued';
}

function patienceMs(status: Activity['status'], occasion: Occasion): number {
  if (status === 'unknown') return GIVE_UP_MS;
  return occasion === 'lost' ? RESUME_MS : 0;
}

/** It was cut off after all: nobody took its answer, and nobody asked for its end. */
function isGone(error: unknown): boolean {
  return error instanceof GatewayError && (error.kind === 'lost' || error.kind === 'aborted');
}
