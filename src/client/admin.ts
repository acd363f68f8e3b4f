/** What an operator sets up: types, pools, pauses. */

import type { Caller, CallOptions } from './caller.ts';
import type { JobType, NewJobType, Pause, Pool } from './types.ts';

export class Types {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  async list(options?: CallOptions): Promise<readonly JobType[]> {
    const all: JobType[] = [];
    for (let path = '/types'; ; ) {
      const page = await get<{ types: JobType[]; nextAfter: string | null }>(this.#caller, path, options);
      all.push(...page.types);
      if (page.nextAfter === null) return all;
      path = `/types?after=${encodeURIComponent(page.nextAfter)}`;
    }
  }

  get(name: string, options?: CallOptions): Promise<JobType> {
    return get(this.#caller, named('types', name), options);
  }

  save(name: string, type: NewJobType, options?: CallOptions): Promise<JobType> {
    const path = named('types', name);
    return this.#caller.json({ method: 'PUT', path, json: type, repeatable: true, options });
  }
}

export class Pools {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  async list(options?: CallOptions): Promise<readonly Pool[]> {
    const answer = await get<{ pools: Pool[] }>(this.#caller, '/pools', options);
    return answer.pools;
  }

  save(
    name: string,
    pool: { readonly capacity: number; readonly perKey?: number },
    options?: CallOptions,
  ): Promise<Pool> {
    const path = named('pools', name);
    return this.#caller.json({ method: 'PUT', path, json: pool, repeatable: true, options });
  }

  async remove(name: string, options?: CallOptions): Promise<void> {
    // A second removal would say that there is no such pool.
    await this.#caller.json({ method: 'DELETE', path: named('pools', name), repeatable: false, options });
  }
}

export class Pauses {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  async list(options?: CallOptions): Promise<readonly Pause[]> {
    const answer = await get<{ pauses: Pause[] }>(this.#caller, '/pauses', options);
    return answer.pauses;
  }

  /** Nothing of the target or type is handed out until it is resumed. */
  async pause(kind: Pause['kind'], name: string, options?: CallOptions): Promise<void> {
    await this.#set(kind, name, 'pause', options);
  }

  async resume(kind: Pause['kind'], name: string, options?: CallOptions): Promise<void> {
    await this.#set(kind, name, 'resume', options);
  }

  async #set(kind: Pause['kind'], name: string, verb: string, options?: CallOptions): Promise<void> {
    const path = `${named(`${kind}s`, name)}/${verb}`;
    await this.#caller.json({ method: 'POST', path, json: {}, repeatable: true, options });
  }
}

function get<T>(caller: Caller, path: string, options?: CallOptions): Promise<T> {
  return caller.json({ method: 'GET', path, repeatable: true, options });
}

function named(folder: string, name: string): string {
  return `/${folder}/${encodeURIComponent(name)}`;
}
