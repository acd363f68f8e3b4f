/** What became of a transaction whose COMMIT was sent and never answered. */

import { pause, within } from './postgres-session.ts';
import type { PostgresWatch } from './postgres-watch.ts';

export type Fate = 'committed' | 'aborted' | 'unknown';

const ASK_AGAIN_MS = 100;
/** However late it is, it is asked once. */
const LEAST_MS = 300;

/**
 * Asks the database on another connection, until then. A transaction that is still under way there may commit yet, so
 * its process, which the caller has abandoned, is ended first.
 */
export async function fateOf(watch: PostgresWatch, xid: string, until: number): Promise<Fate> {
  for (;;) {
    const leftMs = Math.max(LEAST_MS, until - watch.clock.now());
    const status = await statusOf(watch, xid, leftMs);
    if (status === 'committed' || status === 'aborted') return status;
    if (watch.clock.now() >= until) return 'unknown';
    if (status === 'in progress') await watch.endAbandoned().catch(() => undefined);
    await pause(watch.clock, ASK_AGAIN_MS);
  }
}

async function statusOf(watch: PostgresWatch, xid: string, limitMs: number): Promise<unknown> {
  try {
    const asked = watch.ask({ text: 'select pg_xact_status($1::text::xid8)', values: [xid] });
    const [row] = await within(watch.clock, limitMs, asked);
    return row?.[0];
  } catch {
    // Not reachable, or another server that never heard of it.
    return null;
  }
}
