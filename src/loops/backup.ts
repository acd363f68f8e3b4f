/** Makes a snapshot every so often and a rollup every hour. */

import type { Duty, Pass } from './loop.ts';

export interface BackupMaker {
  /** When the last ones were made, before this start too. */
  last(): Promise<{ readonly lastSnapshotAt: number | null; readonly lastRollupAt: number | null }>;
  make(kind: 'snapshot' | 'rollup', now: number): Promise<Attempt>;
}

export type Attempt =
  | { readonly made: true }
  | {
      readonly made: false;
      readonly kind: string;
      readonly message: string;
      /** Some places have it, some have not. */
      readonly partly: boolean;
    };

export interface BackupOptions {
  readonly everyMs: number;
  readonly now: () => number;
  readonly maker: BackupMaker;
}

const HOUR_MS = 3_600_000;
/** Somebody is making one by hand. */
const BUSY_MS = 1_000;
/** However long one takes: in between others may make one by hand. */
const REST_MS = 500;

const IDLE: Pass = { done: 0, more: false };

export function backupDuty({ everyMs, now, maker }: BackupOptions): Duty {
  /** What the last one lacked, told until the next one. */
  let lacking: Error | null = null;

  async function attempt(kind: 'snapshot' | 'rollup', at: number): Promise<'made' | 'busy'> {
    const attempted = await maker.make(kind, at);
    if (attempted.made) return 'made';
    if (attempted.kind === 'busy') return 'busy';
    const problem = new Error(attempted.message);
    if (attempted.partly || kind === 'rollup') lacking = problem;
    throw problem;
  }

  async function runOnce(): Promise<Pass> {
    const at = now();
    const { lastSnapshotAt, lastRollupAt } = await maker.last();
    const waitMs = (lastSnapshotAt ?? -Infinity) + everyMs - at;
    // A clock that was set back must not put backups off.
    const isEarly = waitMs > 0 && waitMs <= everyMs;
    if (isEarly && lacking !== null) throw lacking;
    if (isEarly) return { ...IDLE, nextInMs: waitMs };
    lacking = null;
    if ((await attempt('snapshot', at)) === 'busy') return { ...IDLE, nextInMs: BUSY_MS };
    const isNewHour = Math.floor((lastRollupAt ?? 0) / HOUR_MS) !== Math.floor(at / HOUR_MS);
    if (isNewHour) await attempt('rollup', at);
    return { done: isNewHour ? 2 : 1, more: false, nextInMs: Math.max(REST_MS, at + everyMs - now()) };
  }

  return { name: 'backup', everyMs, runOnce };
}
