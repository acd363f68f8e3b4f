/** Who is known by which name. Names and ids never change; what people are called does, and is looked at again. */

import { LIMITS } from '../domain/limits.ts';
import type { Core } from './core.ts';
import type { CalledUser } from './engine.ts';

const KEPT_MS = 5_000;
/** Authors are tokens, too. */
const REMEMBERED = 4 * LIMITS.users;

interface Seen {
  readonly user: CalledUser | null;
  readonly at: number;
}

export class UserNames {
  readonly #core: Core;
  readonly #seen = new Map<string, Seen>();

  constructor(core: Core) {
    this.#core = core;
  }

  async of(names: readonly string[]): Promise<ReadonlyMap<string, CalledUser>> {
    const now = this.#core.now();
    const all = [...new Set(names)];
    const unknown = all.filter((name) => (this.#seen.get(name)?.at ?? -Infinity) < now - KEPT_MS);
    if (unknown.length > 0) await this.#look(unknown, now);
    return new Map(
      all.flatMap((name) => {
        const user = this.#seen.get(name)?.user;
        return user ? [[name, user]] : [];
      }),
    );
  }

  async #look(names: readonly string[], at: number): Promise<void> {
    const users = await this.#core.store.read.users.byNames(names);
    if (this.#seen.size + names.length > REMEMBERED) this.#seen.clear();
    const found = new Map(users.map((user) => [user.name, user]));
    for (const name of names) this.#seen.set(name, { user: found.get(name) ?? null, at });
  }
}
