/** Who was heard lately. Kept in memory and written down now and then: a claim and a heartbeat pay nothing for it. */

import type { Agent } from '../domain/agent.ts';
import type { Actor } from '../domain/command.ts';

/** Names come from tokens, and these are few. */
const REMEMBERED = 10_000;

export interface Heard {
  readonly at: number;
  readonly status: Agent['status'];
}

export class Presence {
  readonly #heard = new Map<string, Heard>();

  /** Runs and the server's own workers are no agents. */
  hear(actor: Actor, at: number, status: Agent['status']): void {
    if (actor.role !== 'worker' || actor.builtIn) return;
    this.hearAgent(actor.name, at, status);
  }

  hearAgent(id: string, at: number, status: Agent['status']): void {
    if (this.#heard.size < REMEMBERED || this.#heard.has(id)) this.#heard.set(id, { at, status });
  }

  /** As it is by what is not written down yet. */
  upToDate(agent: Agent): Agent {
    const heard = this.#heard.get(agent.id);
    if (heard === undefined || heard.at < (agent.lastSeenAt ?? 0)) return agent;
    return { ...agent, lastSeenAt: heard.at, status: heard.status };
  }

  /** The next ones to be written down, in the order of their ids: two servers never wait for each other. */
  take(limit: number): readonly (readonly [id: string, heard: Heard])[] {
    const taken = [...this.#heard].slice(0, limit).toSorted(([one], [other]) => (one < other ? -1 : 1));
    for (const [id] of taken) this.#heard.delete(id);
    return taken;
  }
}
