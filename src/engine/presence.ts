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
  /** Kept when it was written down, too: whoever reads may have looked at the row before that. */
  readonly #heard = new Map<string, Heard>();
  /** What is not written down yet. */
  readonly #fresh = new Set<string>();
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
    if (this.#heard.size >= REMEMBERED && !this.#heard.has(id)) this.#forget();
    if (this.#heard.size >= REMEMBERED && !this.#heard.has(id)) return;
    this.#heard.set(id, { at, status });
    this.#fresh.add(id);
  }

  #forget(): void {
    for (const id of this.#heard.keys()) if (!this.#fresh.has(id)) this.#heard.delete(id);
  }

  /** A call of somebody whose leases last as long as it is heard: other servers are to know of it soon. */
  hearHolder(actor: Actor, at: number): void {
    this.hear(actor, at, this.#heard.get(actor.name)?.status ?? 'idle');
    if (at - (this.#keptAt.get(actor.name) ?? -Infinity) < this.#keepMs) return;
    if (this.#keptAt.size >= REMEMBERED) this.#keptAt.clear();
    this.#keptAt.set(actor.name, at);
    this.#onNews();
  }

  /** As it is by what may not be written down yet. */
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
    const ids = [...this.#fresh].slice(0, limit).toSorted();
    for (const id of ids) this.#fresh.delete(id);
    return ids.flatMap((id) => {
      const heard = this.#heard.get(id);
      return heard === undefined ? [] : [[id, heard] as const];
    });
  }

  /** They could not be written down. */
  putBack(taken: readonly HeardOf[]): void {
    for (const [id] of taken) this.#fresh.add(id);
  }
}
