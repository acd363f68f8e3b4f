/** Tells when every heartbeat that had come by a moment is decided. */

/** Somebody who waits until these are decided. */
interface Listener<T> {
  readonly undecided: Set<T>;
  readonly resolve: () => void;
}

export class Hearing<T> {
  /** Those that were sent and are not decided yet. */
  readonly #undecided = new Set<T>();
  readonly #listeners = new Set<Listener<T>>();

  came(heartbeat: T): void {
    this.#undecided.add(heartbeat);
  }

  decided(heartbeats: readonly T[]): void {
    for (const heartbeat of heartbeats) this.#undecided.delete(heartbeat);
    for (const listener of this.#listeners) {
      for (const heartbeat of heartbeats) listener.undecided.delete(heartbeat);
      if (listener.undecided.size > 0) continue;
      this.#listeners.delete(listener);
      listener.resolve();
    }
  }

  /** Resolves when all that have come by now are decided. */
  heard(): Promise<void> {
    if (this.#undecided.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#listeners.add({ undecided: new Set(this.#undecided), resolve }));
  }
}
