/** A bot that claims and ends nothing leaves the others their share: it holds so many jobs at most. */

import type { Core } from './core.ts';

export class BotRoom {
  readonly #core: Core;
  /** How many more each may take for certain before somebody has to look: what it has ended since is not counted. */
  readonly #rooms = new Map<string, number>();
  readonly #crowded = new Set<string>();

  constructor(core: Core) {
    this.#core = core;
  }

  async hasRoom(name: string): Promise<boolean> {
    if ((this.#rooms.get(name) ?? 0) > 0) return true;
    const most = this.#core.workers.botTasks;
    const room = most - (await this.#core.store.read.bots.heldNow(name, most));
    this.#rooms.set(name, room);
    if (room > 0) this.#crowded.delete(name);
    else if (!this.#crowded.has(name)) {
      this.#crowded.add(name);
      this.#core.hints.crowded(name, most);
    }
    return room > 0;
  }

  took(name: string): void {
    this.#rooms.set(name, (this.#rooms.get(name) ?? 1) - 1);
  }
}
