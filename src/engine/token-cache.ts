/** The living tokens by their hash. Reading them anew is cheap, and asked for whenever their revision has risen. */

import type { Actor } from '../domain/command.ts';
import type { Store, StoredToken } from '../store/store.ts';

export class TokenCache {
  readonly #store: Store;
  readonly #listeners = new Set<() => void>();
  #living: Promise<Map<string, StoredToken>> | null = null;
  #revision = -1;

  constructor(store: Store) {
    this.#store = store;
  }

  async list(): Promise<StoredToken[]> {
    return [...(await this.#load()).values()];
  }

  async actorOf(hash: string): Promise<Actor | null> {
    const token = (await this.#load()).get(hash);
    return token === undefined ? null : { name: token.name, role: token.role, targets: token.targets };
  }

  /** Looks whether tokens were changed, here or by another server. */
  async refresh(): Promise<void> {
    const revision = await this.#store.read.tokenRevision();
    if (revision === this.#revision) return;
    this.#revision = revision;
    this.#living = null;
    await this.#load();
    for (const listener of this.#listeners) listener();
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #load(): Promise<Map<string, StoredToken>> {
    this.#living ??= Promise.resolve(this.#store.read.tokens()).then(
      (tokens) =>
        new Map(tokens.filter((token) => token.revokedAt === null).map((token) => [token.hash, token])),
    );
    // A failed look is not remembered.
    this.#living.catch(() => (this.#living = null));
    return this.#living;
  }
}
