/** The implicit heartbeat: a turn is alive while its session shows activity, however long it takes. */

import { JobFailure } from '../client/errors.ts';
import { type Platform, sleep } from '../client/platform.ts';
import type { Activity, Gateway, Transport, TurnRef } from '../gateway/gateway.ts';

export interface WatchOptions {
  readonly gateway: Pick<Gateway, 'activity'>;
  readonly platform: Platform;
  /** How long a turn may be silent. */
  readonly thresholdMs: number;
  readonly checkMs: number;
  /** Hears of every sign of life, but not oftener than people look. */
  readonly alive: () => Promise<unknown>;
  /** Hears once that the turn does not wait for a lane of the gateway any more. */
  readonly started: () => void;
}

const LOOKS_PER_THRESHOLD = 9;
const LONGEST_LOOK_MS = 10_000;
const WRITE_EVERY_MS = 5_000;
/** Until a turn has started its time does not count, so it is looked at more often. */
const QUEUED_LOOK_MS = 2_000;
const UNSEEN_LOOK_MS = 500;
/**
 * The first activity is the sign that a turn has a lane: a gateway shows turns as running before they wait for one, and a
 * busy one takes many seconds until it does. Without such a sign a turn counts as started after this.
 */
const SIGNLESS_MS: Readonly<Record<Transport, number>> = { websocket: 30_000, chat: 2_000 };

/** Looks at the turn until `over`. Rejects with a JobFailure when it has been silent for too long; never resolves before. */
export async function watch(options: WatchOptions, turn: TurnRef, over: AbortSignal): Promise<void> {
  const { gateway, platform, thresholdMs } = options;
  const everyMs = Math.min(options.checkMs, thresholdMs / LOOKS_PER_THRESHOLD, LONGEST_LOOK_MS);
  let mark: string | null = null;
  let aliveAt = platform.nowMs();
  let writtenAt = aliveAt;
  let notQueuedSince = aliveAt;
  let started = false;
  while (!over.aborted) {
    const seen = await gateway.activity(turn);
    const now = platform.nowMs();
    if (seen.status === 'queued') notQueuedSince = now;
    if (!started && hasStarted(seen, turn, now - notQueuedSince)) {
      started = true;
      options.started();
    }
    const silent = isSilent(seen, mark);
    if (!silent) aliveAt = now;
    if (over.aborted) return;
    if (silent && seen.mark !== null && now - aliveAt >= thresholdMs) throw stale(thresholdMs);
    if (seen.mark !== null) mark = seen.mark;
    if (isAlive(seen, silent) && now - writtenAt >= WRITE_EVERY_MS) {
      writtenAt = now;
      await options.alive();
    }
    // A look at the very moment when the threshold is reached keeps what comes late to one interval.
    const leftMs = aliveAt + thresholdMs - platform.nowMs();
    const nextMs = started ? everyMs : Math.min(everyMs, startLookMs(seen));
    await sleep(platform, leftMs > 0 ? Math.min(nextMs, leftMs) : nextMs, over).catch(() => undefined);
  }
}

function hasStarted({ status, mark }: Activity, { transport }: TurnRef, signlessMs: number): boolean {
  return mark !== null || status === 'ended' || signlessMs >= patienceMs(status, transport);
}

function patienceMs(status: Activity['status'], transport: Transport): number {
  return status === 'running' ? SIGNLESS_MS[transport] : SIGNLESS_MS.websocket;
}

function startLookMs({ status }: Activity): number {
  return status === 'absent' ? UNSEEN_LOOK_MS : QUEUED_LOOK_MS;
}

/** No change since the last look. Where the gateway shows no mark, silence means nothing; what cannot be seen is not over. */
function isSilent({ status, mark, tool }: Activity, before: string | null): boolean {
  if (status === 'unknown') return true;
  return mark !== null && mark === before && tool === null;
}

/** A turn that waits for a lane is well: the gateway knows it. */
function isAlive({ status }: Activity, silent: boolean): boolean {
  return status === 'queued' || (status === 'running' && !silent);
}

function stale(thresholdMs: number): JobFailure {
  const seconds = Math.round(thresholdMs / 1_000);
  return new JobFailure(`The agent showed no sign of life for ${seconds} s and was stopped.`, {
    cause: 'stale',
  });
}
