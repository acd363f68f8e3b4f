/** Who wants something, as fairness and limits see it. */

import type { Actor } from './command.ts';

/** The server itself: its loops act for nobody. */
export const SYSTEM: Actor = { name: 'system', role: 'system', targets: null };

/** Those who share a name share a turn and a limit; every run has its own, whoever holds it. */
export function principalOf(actor: Actor): string {
  return actor.onlyJob === undefined ? `${actor.role} ${actor.name}` : `run ${actor.onlyJob}`;
}
