/** Looks whether a gateway takes work. While it does not, its jobs wait in the queue and nothing fails. */

import type { Platform } from '../client/platform.ts';
import type { Gateway } from '../gateway/gateway.ts';
import type { WorkerLog } from './ports.ts';

export interface ReadinessOptions {
  readonly gateway: Pick<Gateway, 'name' | 'readiness'>;
  readonly platform: Platform;
  readonly log: WorkerLog;
  readonly everyMs: number;
  /** Somebody said that there is one. Where nobody did, an installation without a gateway is no trouble. */
  readonly expected: boolean;
  readonly onChange: (ready: boolean) => void;
}

/** A gateway that is back should not have to wait for a long tick. */
const AWAY_LOOK_MS = 2_000;

export class Readiness {
  readonly #options: ReadinessOptions;
  #ready: boolean | null = null;
  #why: string | null = null;
  #looking = false;
  #stopped = false;
  #cancel = (): void => {};

  constructor(options: ReadinessOptions) {
    this.#options = options;
  }

  get state(): { readonly ready: boolean; readonly why: string | null } {
    return { ready: this.#ready === true, why: this.#why };
  }

  /** Looks now, and then again and again until stop(). */
  look(): void {
    if (this.#looking || this.#stopped) return;
    this.#looking = true;
    this.#cancel();
    void this.#look();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel();
  }

  async #look(): Promise<void> {
    const { gateway, platform, everyMs } = this.#options;
    const { ready, why } = await gateway.readiness();
    this.#looking = false;
    if (this.#stopped) return;
    this.#why = why;
    if (ready !== this.#ready) this.#changed(ready);
    const waitMs = ready ? everyMs : Math.min(everyMs, AWAY_LOOK_MS);
    this.#cancel = platform.after(waitMs, () => this.look());
  }

  #changed(ready: boolean): void {
    const { gateway, log, expected, onChange } = this.#options;
    const isNews = expected || this.#ready !== null;
    this.#ready = ready;
    if (ready) log.info('The gateway takes work', { gateway: gateway.name });
    else if (isNews)
      log.warn('The gateway takes no work; its jobs wait', { gateway: gateway.name, why: this.#why });
    onChange(ready);
  }
}
