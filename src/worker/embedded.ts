/** The ordinary worker runtime inside the server: one worker for each target that this server serves itself. */

import type { Platform } from '../client/platform.ts';
import { Worker, type WorkerClient } from '../client/worker.ts';
import type { Gateway } from '../gateway/gateway.ts';
import type { CancelRequests, WorkerLog } from './ports.ts';
import { Readiness } from './readiness.ts';
import type { Runner } from './runner.ts';

export interface EmbeddedOptions {
  readonly target: string;
  readonly client: WorkerClient;
  readonly runner: Runner;
  readonly concurrency: number;
  /** Claims only while it is ready. */
  readonly gateway: Pick<Gateway, 'name' | 'readiness'> | null;
  /** Somebody said where the gateway is. */
  readonly gatewayExpected: boolean;
  readonly cancelRequests: CancelRequests;
  readonly log: WorkerLog;
  readonly tickMs: number;
}

export interface EmbeddedStatus {
  readonly target: string;
  readonly running: number;
  readonly ready: boolean;
  /** Why it is not. */
  readonly why: string | null;
}

/** Short, because whoever comes after a crash waits for it. */
export const LEASE_MS = 30_000;
const CANCEL_LOOK_MS = 1_000;
/** Of the time to stop, what is left for handlers that were told to. */
const GRACE_MS = 2_500;

export class EmbeddedWorker {
  readonly #options: EmbeddedOptions;
  readonly #platform: Platform;
  readonly #worker: Worker;
  readonly #readiness: Readiness | null;
  #cancelLook = (): void => {};
  #stopped = false;

  constructor(options: EmbeddedOptions) {
    const { target, client, runner, concurrency, gateway, log, tickMs } = options;
    this.#options = options;
    this.#platform = client.platform;
    this.#worker = new Worker({
      client,
      targets: [target],
      concurrency,
      handler: runner.run,
      keepsTime: true,
      leaseMs: LEASE_MS,
      graceMs: GRACE_MS,
      onError: (error, job) => log.warn('Trouble with a job', { target, job: job?.id, error }),
    });
    this.#readiness =
      gateway &&
      new Readiness({
        gateway,
        log,
        platform: this.#platform,
        everyMs: tickMs,
        expected: options.gatewayExpected,
        onChange: (ready) => (ready ? this.#worker.resume() : this.#worker.pause()),
      });
  }

  start(): void {
    const { log, target } = this.#options;
    if (this.#readiness) this.#worker.pause();
    this.#worker.run().catch((error: unknown) => log.warn('A worker ended', { target, error }));
    this.lookAtGateway();
    this.#planCancelLook();
  }

  /** After trouble the gateway may not be ready any more. */
  lookAtGateway(): void {
    this.#readiness?.look();
  }

  /** What goes on without us is given back at once; the rest gets the time to end, and is then told to. */
  async stop(drainMs: number): Promise<void> {
    this.#stopped = true;
    this.#cancelLook();
    this.#readiness?.stop();
    const ended = this.#worker.stop({ drainMs: Math.max(0, drainMs - GRACE_MS) });
    for (const { id } of this.#worker.held())
      if (this.#options.runner.outlives(id)) this.#worker.interrupt(id, 'shutdown');
    // Why it ended has been logged.
    await ended.catch(() => undefined);
  }

  status(): EmbeddedStatus {
    const { target } = this.#options;
    const { ready, why } = this.#readiness?.state ?? { ready: true, why: null };
    return { target, running: this.#worker.held().length, ready, why };
  }

  #planCancelLook(): void {
    this.#cancelLook = this.#platform.after(CANCEL_LOOK_MS, () => void this.#lookForCancels());
  }

  async #lookForCancels(): Promise<void> {
    const held = this.#worker.held();
    // A look that fails is made up for by the next; the heartbeat hears of it too.
    const ids = held.length === 0 ? [] : await this.#options.cancelRequests(held).catch(() => []);
    for (const id of ids) this.#worker.interrupt(id, 'cancelled');
    if (!this.#stopped) this.#planCancelLook();
  }
}
