/** The counters of jobs by target and state, kept up by imports under a name of their own. */

import type { State } from '../domain/job.ts';
import type { Tx } from '../store/store.ts';

export async function count(
  tx: Tx,
  deltas: readonly { target: string; state: State; by: number }[],
): Promise<void> {
  if (deltas.length > 0) await tx.counters.add('import', deltas);
}
