/** The living tokens by their hash. Reading them anew is cheap, and asked for whenever their revision has risen. */

import type { Actor } from '../domain/command.ts';
import { serves } from '../domain/lease.ts';
import type { Grant } from '../domain/message.ts';
import type { Token } from '../domain/token.ts';
import type { Store } from '../store/store.ts';

interface Known {
  /** By their hash. */
  readonly living: ReadonlyMap<string, Token>;
  /** Those that were revoked, too. */
  readonly byName: ReadonlyMap<string, readonly Token[]>;
}

export class TokenCache {
  readonly #store: Store;
  readonly #listeners = new Set<() => void>();
  #known: Promise<Known> | null = null;
  readonly #secrets = new Map<string, string>();
  #revision = -1;
  /** Names that the settings of this server have tokens for. */
  readonly #configured: ReadonlySet<string>;

  constructor(store: Store, configured: readonly string[]) {
    this.#store = store;
    this.#configured = new Set(configured);
  }

  async list(): Promise<Token[]> {
    return [...(await this.#load()).living.values()];
  }

  async actorOf(hash: string): Promise<Actor | null> {
    const token = (await this.#load()).living.get(hash);
    if (token === undefined) return null;
    const { name, role, targets, grants } = token;
    return { name, role, targets, ...(grants && { grants }) };
  }

  /**
   * Whether who holds a job may still act: its token was not revoked or narrowed since `heardAt`, when the holder was
   * heard last. Names that no stored token ever had are the environment's, or the server's own.
   */
  async mayHold(name: string, target: string, heardAt: number): Promise<boolean> {
    if (this.#configured.has(name)) return true;
    const tokens = (await this.#load()).byName.get(name);
    if (tokens === undefined) return true;
    return tokens.some(
      (token) => token.revokedAt === null && token.createdAt <= heardAt && serves(token, target),
    );
  }

  /** What the living tokens of a worker of this name may send to other agents. */
  async grantsOf(name: string): Promise<readonly Grant[]> {
    const tokens = (await this.#load()).byName.get(name) ?? [];
    const workers = tokens.filter(({ role, revokedAt }) => role === 'worker' && revokedAt === null);
    return workers.flatMap(({ grants }) => grants ?? []);
  }

  /** Looks whether tokens were changed, here or by another server. */
  async refresh(): Promise<void> {
    const revision = await this.#store.read.tokens.revision();
    if (revision === this.#revision) return;
    this.#known = null;
    await this.#load();
    this.#revision = revision;
    for (const listener of this.#listeners) listener();
  }

  /** Made once for the whole installation, by whoever asks first. */
  async secret(name: string, make: () => string): Promise<string> {
    const known = this.#secrets.get(name) ?? (await this.#store.read.meta.get(name));
    if (known === null) await this.#store.transaction(0, async (tx) => tx.meta.keep(name, make()));
    const secret = known ?? (await this.#store.read.meta.get(name)) ?? '';
    this.#secrets.set(name, secret);
    return secret;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #load(): Promise<Known> {
    this.#known ??= Promise.resolve(this.#store.read.tokens.all()).then(known);
    // A failed look is not remembered.
    this.#known.catch(() => (this.#known = null));
    return this.#known;
  }
}

function known(tokens: readonly Token[]): Known {
  const living = tokens.filter((token) => token.revokedAt === null);
  return {
    living: new Map(living.map((token) => [token.hash, token])),
    byName: Map.groupBy(tokens, ({ name }) => name),
  };
}
