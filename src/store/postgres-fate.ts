/** What became of a transaction whose COMMIT was sent and never answered. */

import { type Backend, pause, within } from './postgres-session.ts';
import type { PostgresWatch } from './postgres-watch.ts';

export type Fate = 'committed' | 'aborted' | 'unknown';

const ASK_AGAIN_MS = 100;
/** However late it is, it is asked once. */
const LEAST_MS = 300;

/**
 * A database that had to recover from a crash has forgotten the numbers of transactions that were not durable, and
 * gives them out again: who has that number now may be somebody else. Such a recovery begins its statistics anew.
 */
const STATUS = `
select pg_xact_status($1::text::xid8), coalesce(stats_reset > $2::timestamptz, true) from pg_stat_bgwriter`;

/**
 * Asks the database on another connection, until then. A transaction that is still under way there may commit yet, so
 * its process, which the caller has abandoned, is ended first.
 */
export async function fateOf(
  watch: PostgresWatch,
  xid: string,
  { startedAt }: Backend,
  until: number,
): Promise<Fate> {
  for (;;) {
    const leftMs = Math.max(LEAST_MS, until - watch.clock.now());
    const [status, crashedSince] = await statusOf(watch, [xid, startedAt], leftMs);
    // Of a durable transaction the number is never given out again: aborted is aborted.
    if (status === 'aborted') return status;
    if (status === 'committed') return crashedSince === false ? status : 'unknown';
    if (watch.clock.now() >= until) return 'unknown';
    if (status === 'in progress') await watch.endAbandoned().catch(() => undefined);
    await pause(watch.clock, ASK_AGAIN_MS);
  }
}

async function statusOf(
  watch: PostgresWatch,
  values: readonly string[],
  limitMs: number,
): Promise<readonly unknown[]> {
  try {
    const [row] = await within(watch.clock, limitMs, watch.ask({ text: STATUS, values: [...values] }));
    return row ?? [];
  } catch {
    // Not reachable, or another server that never heard of it.
    return [];
  }
}
