/** A bot that claims and ends nothing leaves the others their share: it holds so many jobs at most. */

import type { Core } from './core.ts';

export class BotRoom {
  readonly #core: Core;
  /** How many more each may take for certain before somebody has to look: what it has ended since is not counted. */
  readonly #rooms = new Map<string, number>();
  /** How many of its claims have a place and no answer yet: a look may or may not see what they take. */
  readonly #underWay = new Map<string, number>();
  readonly #looks = new Map<string, Promise<void>>();
  readonly #crowded = new Set<string>();

  constructor(core: Core) {
    this.#core = core;
  }

  /** Claims when there is room, else answers null. Of many claims at once each has its place before it begins. */
  async within<T>(name: string, claim: () => Promise<T | null>): Promise<T | null> {
    if (!this.#reserve(name)) {
      await this.#looked(name);
      if (!this.#reserve(name)) return null;
    }
    this.#add(this.#underWay, name, 1);
    try {
      const claimed = await claim();
      if (claimed === null) this.#add(this.#rooms, name, 1);
      return claimed;
    } finally {
      this.#add(this.#underWay, name, -1);
    }
  }

  #reserve(name: string): boolean {
    if ((this.#rooms.get(name) ?? 0) <= 0) return false;
    this.#add(this.#rooms, name, -1);
    return true;
  }

  /** Whoever comes meanwhile waits for the same look. */
  #looked(name: string): Promise<void> {
    const known = this.#looks.get(name);
    if (known !== undefined) return known;
    const look = this.#look(name).finally(() => this.#looks.delete(name));
    this.#looks.set(name, look);
    return look;
  }

  async #look(name: string): Promise<void> {
    const most = this.#core.workers.botTasks;
    // Rather one too few than one too many: the next look knows.
    const underWay = this.#underWay.get(name) ?? 0;
    const held = await this.#core.store.read.bots.heldNow(name, most);
    this.#rooms.set(name, most - held - underWay);
    if (held < most) this.#crowded.delete(name);
    else if (!this.#crowded.has(name)) {
      this.#crowded.add(name);
      this.#core.hints.crowded(name, most);
    }
  }

  #add(to: Map<string, number>, name: string, more: number): void {
    to.set(name, (to.get(name) ?? 0) + more);
  }
}
