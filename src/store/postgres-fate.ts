/** What became of a transaction whose COMMIT was sent and never answered. */

import { pause } from './postgres-session.ts';
import type { PostgresWatch } from './postgres-watch.ts';

export type Fate = 'committed' | 'aborted' | 'unknown';

const ASK_AGAIN_MS = 100;

/**
 * Asks the database on another connection, until then. A transaction that is still under way there may commit yet, so
 * its process, which the caller has abandoned, is ended first.
 */
export async function fateOf(watch: PostgresWatch, xid: string, until: number): Promise<Fate> {
  for (;;) {
    const status = await statusOf(watch, xid);
    if (status === 'committed' || status === 'aborted') return status;
    if (watch.clock.now() >= until) return 'unknown';
    await watch.endAbandoned().catch(() => undefined);
    await pause(watch.clock, ASK_AGAIN_MS);
  }
}

async function statusOf(watch: PostgresWatch, xid: string): Promise<unknown> {
  try {
    const [row] = await watch.ask({ text: 'select pg_xact_status($1::text::xid8)', values: [xid] });
    return row?.[0];
  } catch {
    // Not reachable, or another server that never heard of it.
    return null;
  }
}
