/** Messages between agents, and the agents that are known. */

import type { Caller, CallOptions } from './caller.ts';
import type {
  Agent,
  Message,
  MessageFilter,
  MessagePage,
  NewAgent,
  NewMessage,
  ThreadPage,
  UnreadPage,
} from './message-types.ts';

export class Messages {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** Repeated by itself only with a key: without one a call that is sent twice sends two messages. */
  send(
    message: NewMessage,
    { idempotencyKey, ...options }: CallOptions & { readonly idempotencyKey?: string } = {},
  ): Promise<Message> {
    return this.#caller.json({
      method: 'POST',
      path: '/messages',
      json: message,
      ...(idempotencyKey !== undefined && { headers: { 'idempotency-key': idempotencyKey } }),
      repeatable: idempotencyKey !== undefined,
      options,
    });
  }

  get(id: string, options?: CallOptions): Promise<Message> {
    return this.#caller.json({ method: 'GET', path: pathOf(id), repeatable: true, options });
  }

  /** Newest first; `next_before` of the answer is the `before` of the next page. */
  list(filter: MessageFilter = {}, options?: CallOptions): Promise<MessagePage> {
    return this.#caller.json({
      method: 'GET',
      path: '/messages',
      query: { ...filter },
      repeatable: true,
      options,
    });
  }

  /** What an agent has not read, in the order in which it matters. A worker's own unless said. */
  inbox(
    agent?: string,
    page: { readonly after?: string; readonly limit?: number } = {},
    options?: CallOptions,
  ): Promise<UnreadPage> {
    const query = { unread: true, ...(agent !== undefined && { to_agent: agent }), ...page };
    return this.#caller.json({ method: 'GET', path: '/messages', query, repeatable: true, options });
  }

  /** The whole conversation, oldest first. */
  thread(
    id: string,
    page: { readonly after?: number; readonly limit?: number } = {},
    options?: CallOptions,
  ): Promise<ThreadPage> {
    const path = `${pathOf(id)}/thread`;
    return this.#caller.json({ method: 'GET', path, query: { ...page }, repeatable: true, options });
  }

  /** Says that an agent has read it: a worker means itself. */
  read(id: string, agent?: string, options?: CallOptions): Promise<Message> {
    const json = agent === undefined ? {} : { agent };
    return this.#caller.json({ method: 'POST', path: `${pathOf(id)}/read`, json, repeatable: true, options });
  }

  /** Answers how many were marked. */
  async readAll(agent?: string, options?: CallOptions): Promise<number> {
    const json = agent === undefined ? {} : { agent };
    const call = { method: 'POST', path: '/messages/readall', json, repeatable: true, options } as const;
    return (await this.#caller.json<{ read: number }>(call)).read;
  }

  async countUnread(agent?: string, options?: CallOptions): Promise<number> {
    const query = agent === undefined ? {} : { agent };
    const call = { method: 'GET', path: '/messages/unread', query, repeatable: true, options } as const;
    return (await this.#caller.json<{ unread: number }>(call)).unread;
  }
}

export class Agents {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  async list(options?: CallOptions): Promise<readonly Agent[]> {
    const call = { method: 'GET', path: '/agents', repeatable: true, options } as const;
    return (await this.#caller.json<{ agents: Agent[] }>(call)).agents;
  }

  get(id: string, options?: CallOptions): Promise<Agent> {
    const path = `/agents/${encodeURIComponent(id)}`;
    return this.#caller.json({ method: 'GET', path, repeatable: true, options });
  }

  /** Makes it known, or changes what is said of it. */
  register(agent: NewAgent, options?: CallOptions): Promise<Agent> {
    return this.#caller.json({ method: 'POST', path: '/agents', json: agent, repeatable: true, options });
  }

  async remove(id: string, options?: CallOptions): Promise<void> {
    const path = `/agents/${encodeURIComponent(id)}`;
    await this.#caller.json({ method: 'DELETE', path, repeatable: false, options });
  }
}

function pathOf(id: string): string {
  return `/messages/${encodeURIComponent(id)}`;
}
