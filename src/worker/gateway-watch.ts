/** The implicit heartbeat: a turn is alive while its session shows activity, however long it takes. */

import { JobFailure } from '../client/errors.ts';
import { type Platform, sleep } from '../client/platform.ts';
import type { Activity, Gateway, TurnRef } from '../gateway/gateway.ts';

export interface WatchOptions {
  readonly gateway: Pick<Gateway, 'activity'>;
  readonly platform: Platform;
  /** How long a turn may be silent. */
  readonly thresholdMs: number;
  readonly checkMs: number;
  /** Hears of every sign of life, but not oftener than people look. */
  readonly alive: () => Promise<unknown>;
}

const LOOKS_PER_THRESHOLD = 9;
const LONGEST_LOOK_MS = 10_000;
const NOTE_EVERY_MS = 5_000;

/** Looks at the turn until `over`. Rejects with a JobFailure when it has been silent for too long; never resolves before. */
export async function watch(options: WatchOptions, turn: TurnRef, over: AbortSignal): Promise<void> {
  const { gateway, platform, thresholdMs } = options;
  const everyMs = Math.min(options.checkMs, thresholdMs / LOOKS_PER_THRESHOLD, LONGEST_LOOK_MS);
  let mark: string | null = null;
  let aliveAt = platform.nowMs();
  let notedAt = aliveAt;
  while (!over.aborted) {
    const seen = await gateway.activity(turn);
    const now = platform.nowMs();
    const silent = isSilent(seen, mark);
    if (!silent) aliveAt = now;
    if (over.aborted) return;
    if (silent && seen.mark !== null && now - aliveAt >= thresholdMs) throw stale(thresholdMs);
    if (seen.mark !== null) mark = seen.mark;
    if (isAlive(seen, silent) && now - notedAt >= NOTE_EVERY_MS) {
      notedAt = now;
      await options.alive();
    }
    // A look at the very moment when the threshold is reached keeps what comes late to one interval.
    const leftMs = aliveAt + thresholdMs - platform.nowMs();
    await sleep(platform, leftMs > 0 ? Math.min(everyMs, leftMs) : everyMs, over).catch(() => undefined);
  }
}

/** No change since the last look. Where the gateway shows no mark, silence means nothing; what cannot be seen is not over. */
function isSilent({ status, mark, tool }: Activity, before: string | null): boolean {
  if (status === 'unknown') return true;
  return mark !== null && mark === before && tool === null;
}

function isAlive({ status }: Activity, silent: boolean): boolean {
  return status === 'running' && !silent;
}

function stale(thresholdMs: number): JobFailure {
  const seconds = Math.round(thresholdMs / 1_000);
  return new JobFailure(`The agent showed no sign of life for ${seconds} s and was stopped.`, {
    cause: 'stale',
  });
}
