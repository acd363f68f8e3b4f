/** Who follows the feed, and how they hear of news. */

export class FeedWatch {
  readonly #listeners = new Set<() => void>();
  #announced = false;

  get watched(): boolean {
    return this.#listeners.size > 0;
  }

  watch(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Many commits in one round of the event loop make one call. */
  announce(): void {
    if (this.#announced || !this.watched) return;
    this.#announced = true;
    setImmediate(() => {
      this.#announced = false;
      for (const listener of this.#listeners) listener();
    });
  }
}
