/** Where texts for people outside go, and what became of them. */

import type { Caller, CallOptions } from './caller.ts';
import type {
  Alias,
  Delivery,
  DeliveryFilter,
  DeliveryPage,
  NewAlias,
  NewSubscription,
  Subscription,
} from './delivery-types.ts';

export class Aliases {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  async list(options?: CallOptions): Promise<readonly Alias[]> {
    const call = { method: 'GET', path: '/aliases', repeatable: true, options } as const;
    return (await this.#caller.json<{ aliases: Alias[] }>(call)).aliases;
  }

  /** Makes it, or says where it leads from now on. */
  save(alias: NewAlias, options?: CallOptions): Promise<Alias> {
    return this.#caller.json({ method: 'POST', path: '/aliases', json: alias, repeatable: true, options });
  }

  async remove(alias: string, options?: CallOptions): Promise<void> {
    const path = `/aliases/${encodeURIComponent(alias)}`;
    await this.#caller.json({ method: 'DELETE', path, repeatable: false, options });
  }
}

export class Subscriptions {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  async list(options?: CallOptions): Promise<readonly Subscription[]> {
    const call = { method: 'GET', path: '/subscriptions', repeatable: true, options } as const;
    return (await this.#caller.json<{ subscriptions: Subscription[] }>(call)).subscriptions;
  }

  add(subscription: NewSubscription, options?: CallOptions): Promise<Subscription> {
    const path = '/subscriptions';
    return this.#caller.json({ method: 'POST', path, json: subscription, repeatable: false, options });
  }

  async remove(id: string, options?: CallOptions): Promise<void> {
    const path = `/subscriptions/${encodeURIComponent(id)}`;
    await this.#caller.json({ method: 'DELETE', path, repeatable: false, options });
  }
}

export class Deliveries {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** Newest first; `next_before` of the answer is the `before` of the next page. */
  list(filter: DeliveryFilter = {}, options?: CallOptions): Promise<DeliveryPage> {
    return this.#caller.json({
      method: 'GET',
      path: '/deliveries',
      query: { ...filter },
      repeatable: true,
      options,
    });
  }

  /** Sends one that failed after all. */
  retry(id: string, options?: CallOptions): Promise<Delivery> {
    const path = `/deliveries/${encodeURIComponent(id)}/retry`;
    return this.#caller.json({ method: 'POST', path, json: {}, repeatable: false, options });
  }
}
