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
    const found = new Map<string, CalledUser | null>();
    for (const name of names) {
      const seen = this.#seen.get(name);
      if (seen !== undefined && seen.at >= now - KEPT_MS) found.set(name, seen.user);
    }
    const unknown = [...new Set(names)].filter((name) => !found.has(name));
    if (unknown.length > 0) await this.#look(unknown, now, found);
    return new Map([...found].filter((each): each is [string, CalledUser] => each[1] !== null));
  }

  async #look(names: readonly string[], at: number, found: Map<string, CalledUser | null>): Promise<void> {
    const users = new Map(
      (await this.#core.store.read.users.byNames(names)).map((user) => [user.name, user]),
    );
    if (this.#seen.size + names.length > REMEMBERED) this.#seen.clear();
    for (const name of names) {
      const user = users.get(name) ?? null;
      found.set(name, user);
      this.#seen.set(name, { user, at });
    }
  }
}
