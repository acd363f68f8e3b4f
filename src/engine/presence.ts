/** Who was heard lately. Kept in memory and written down now and then: a claim and a heartbeat pay nothing for it. */

import type { Agent } from '../domain/agent.ts';
import type { Actor } from '../domain/command.ts';
import type { User } from '../domain/user.ts';

/** Names come from tokens and users, and these are few. */
const REMEMBERED = 10_000;

export interface Heard {
  readonly at: number;
  readonly status: Agent['status'];
}

export type HeardOf = readonly [id: string, heard: Heard];

export class Presence {
  readonly #heard = new Map<string, Heard>();
  /** When those were last written down on whose presence leases rest. */
  readonly #keptAt = new Map<string, number>();
  readonly #keepMs: number;
  readonly #onNews: () => void;

  /** What leases rest on is to be written down this often at least: `onNews` says that it is time. */
  constructor(keepMs: number, onNews: () => void) {
    this.#keepMs = keepMs;
    this.#onNews = onNews;
  }

  /** Runs and the server's own workers are no agents. */
  hear(actor: Actor, at: number, status: Agent['status']): void {
    if (actor.role !== 'worker' || actor.builtIn) return;
    this.hearAgent(actor.name, at, status);
  }

  hearAgent(id: string, at: number, status: Agent['status']): void {
    if (this.#heard.size < REMEMBERED || this.#heard.has(id)) this.#heard.set(id, { at, status });
  }

  /** A call of somebody whose leases last as long as it is heard: other servers are to know of it soon. */
  hearHolder(actor: Actor, at: number): void {
    this.hear(actor, at, this.#heard.get(actor.name)?.status ?? 'idle');
    if (at - (this.#keptAt.get(actor.name) ?? -Infinity) < this.#keepMs) return;
    if (this.#keptAt.size >= REMEMBERED) this.#keptAt.clear();
    this.#keptAt.set(actor.name, at);
    this.#onNews();
  }

  /** As it is by what is not written down yet. */
  upToDate(agent: Agent): Agent {
    const heard = this.#heard.get(agent.id);
    if (heard === undefined || heard.at < (agent.lastSeenAt ?? 0)) return agent;
    return { ...agent, lastSeenAt: heard.at, status: heard.status };
  }

  userUpToDate(user: User): User {
    const heard = this.#heard.get(user.name);
    if (heard === undefined || heard.at < (user.lastActivityAt ?? 0)) return user;
    return { ...user, lastActivityAt: heard.at };
  }

  /** The next ones to be written down, in the order of their ids: two servers never wait for each other. */
  take(limit: number): readonly HeardOf[] {
    const taken = [...this.#heard].slice(0, limit).toSorted(([one], [other]) => (one < other ? -1 : 1));
    for (const [id] of taken) this.#heard.delete(id);
    return taken;
  }

  /** They could not be written down. */
  putBack(taken: readonly HeardOf[]): void {
    for (const [id, heard] of taken) if (!this.#heard.has(id)) this.#heard.set(id, heard);
  }
}
