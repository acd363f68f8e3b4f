/** Who wants something, as fairness and limits see it. */

import type { Actor } from './command.ts';

/** A loop acts for nobody, under a name of its own: it has its own turn, and people see who it was. */
export function loopActor(name: string): Actor {
  return { name, role: 'system', targets: null };
}

/** The server itself, where no loop and no caller wants something. */
export const SYSTEM: Actor = loopActor('system');

/** Those who share a name share a line and a limit; every run has its own, whoever holds it. */
export function principalOf(actor: Actor): string {
  return actor.onlyJob === undefined ? `${actor.role} ${actor.name}` : `run ${actor.onlyJob}`;
}

/**
 * Who answers for what runs take in memory: whoever holds them can make as many as it likes. An agent at a gateway
 * makes none for itself; it stands apart from the others that its gateway serves.
 */
export function ownerOf(actor: Actor): string {
  if (actor.agent !== undefined) return `agent ${actor.agent}`;
  return actor.role === 'run' ? `worker ${actor.name}` : principalOf(actor);
}
