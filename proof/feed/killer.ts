import { setTimeout as sleep } from 'node:timers/promises';
import type { TestServer } from '../../test/support/server.ts';
import type { Random } from '../random.ts';

/** Kills one server after another without warning and starts it again, while the others go on. */
export class Killer {
  readonly #servers: readonly TestServer[];
  readonly #random: Random;
  #stopped = false;
  kills = 0;

  constructor(servers: readonly TestServer[], random: Random) {
    this.#servers = servers;
    this.#random = random;
  }

  /** Ends with all servers running. */
  async haunt(): Promise<void> {
    while (!this.#stopped) {
      await sleep(200 + this.#random.int(800));
      if (this.#stopped) return;
      await this.#random.pick(this.#servers).restart();
      this.kills++;
    }
  }

  stop(): void {
    this.#stopped = true;
  }
}
