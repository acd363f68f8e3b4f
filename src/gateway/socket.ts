/** The one WebSocket that all turns of a gateway share. Opened when needed, and again after it broke, each time a little later. */

import type { Exchange } from './connection.ts';
import { contentOf } from './connection.ts';
import type { Access } from './access.ts';
import { GatewayError } from './errors.ts';
import { connect, type Opened } from './handshake.ts';
import type { Fields } from './json.ts';
import { sleep } from './sleep.ts';

const BACKOFF_FIRST_MS = 250;
const BACKOFF_MAX_MS = 5_000;

export class GatewaySocket {
  readonly #access: Access;
  #opening: Promise<Opened> | null = null;
  #runsTurnsNow = false;
  #failures = 0;
  #closed = false;

  constructor(access: Access) {
    this.#access = access;
  }

  /** Whether the gateway lets us run turns over the WebSocket. */
  async runsTurns(): Promise<boolean> {
    return (await this.#open()).runsTurns;
  }

  /** The same of the connection that is open; false without one. */
  get runsTurnsNow(): boolean {
    return this.#runsTurnsNow;
  }

  async request(method: string, params: Fields, extraMs = 0): Promise<Fields> {
    return contentOf((await this.exchange(method, params, extraMs)).first);
  }

  async exchange(method: string, params: Fields, extraMs = 0): Promise<Exchange> {
    const { connection } = await this.#open();
    return connection.exchange(method, params, this.#access.limits.requestMs + extraMs);
  }

  async close(): Promise<void> {
    this.#closed = true;
    const opened = await this.#opening?.catch(() => null);
    opened?.connection.close('we are stopping');
  }

  #open(): Promise<Opened> {
    if (this.#closed) throw new GatewayError('down', 'the connection to the gateway is closed');
    this.#opening ??= this.#begin();
    return this.#opening;
  }

  #begin(): Promise<Opened> {
    // A late word about an old connection must not touch its successor.
    const gone = (): void => {
      if (this.#opening !== opening) return;
      this.#opening = null;
      this.#runsTurnsNow = false;
    };
    const opening: Promise<Opened> = this.#dial(gone).catch((error: unknown) => {
      gone();
      throw error;
    });
    return opening;
  }

  async #dial(gone: () => void): Promise<Opened> {
    try {
      if (this.#failures > 0) await sleep(this.#access.clock, backoffMs(this.#failures));
      const opened = await connect(this.#access, gone);
      this.#failures = 0;
      this.#runsTurnsNow = opened.runsTurns;
      return opened;
    } catch (error) {
      this.#failures += 1;
      throw error;
    }
  }
}

function backoffMs(failures: number): number {
  return Math.min(BACKOFF_FIRST_MS * 2 ** (failures - 1), BACKOFF_MAX_MS);
}
