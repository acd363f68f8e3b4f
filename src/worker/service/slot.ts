/** One slot of a worker: says at every change, and in between, that it is alive and what it does. */

import { SpineApiError } from '../../client/errors.ts';
import { type Platform, sleep } from '../../client/platform.ts';
import type { ClaimedJob } from '../../client/types.ts';
import type { Beat, BridgeCalls } from './bridge-calls.ts';
import type { WorkerLog } from '../ports.ts';

export interface SlotHost {
  readonly platform: Platform;
  readonly calls: Pick<BridgeCalls, 'beat'>;
  readonly instance: string;
  readonly idleBeatMs: number;
  readonly workingBeatMs: number;
  readonly log: WorkerLog;
  /** Another process has the slot now. */
  readonly onLost: (slot: string) => void;
  /** Somebody wants it to take nothing new, or to go on. */
  readonly onDraining: (draining: boolean) => void;
  /** Epoch milliseconds, for people. */
  readonly wallMs: () => number;
}

interface Doing {
  readonly job: ClaimedJob;
  readonly sessionId: string;
  readonly since: number;
}

/** The last word is worth a few tries. */
const LAST_TRIES = 3;
const LAST_WAIT_MS = 1_000;

export class Slot {
  readonly name: string;
  readonly #host: SlotHost;
  #doing: Doing | null = null;
  /** The session that may be at work. */
  #session: string | null = null;
  #sent: Promise<void> = Promise.resolve();
  #cancel = (): void => {};
  #failing = false;
  #stopped = false;

  constructor(host: SlotHost, name: string) {
    this.#host = host;
    this.name = name;
  }

  start(): void {
    this.#plan();
  }

  /** Resolves when the server knows, or cannot be told now. */
  work(job: ClaimedJob, sessionId: string): Promise<void> {
    this.#doing = { job, sessionId, since: this.#host.wallMs() };
    this.#session = sessionId;
    return this.#beatNow();
  }

  /** Its session is over. Its task is kept until the server has taken its end: a crash before that is to find it. */
  sessionOver(): void {
    this.#session = null;
  }

  /** Nothing is done any more. A session that is left is named until the last heartbeat. */
  rest(): void {
    if (this.#session !== null) return;
    this.#doing = null;
    void this.#beatNow();
  }

  /** Says good-bye; nothing is said after it. Once only, where nobody waits any longer. */
  async leave(offlineReason: string, hurry: AbortSignal): Promise<void> {
    this.quit();
    // One that could not be ended in time is for the next process of the slot.
    const sessionId = this.#session;
    await this.#sent;
    const { platform, calls, instance } = this.#host;
    const last: Beat = {
      slot: this.name,
      instance,
      status: 'offline',
      sessionId,
      metadata: { offlineReason },
    };
    for (let tries = 1; ; tries++) {
      const heard = await calls.beat(last).then(
        () => true,
        (error: unknown) => error instanceof SpineApiError && error.status < 500,
      );
      if (heard || hurry.aborted || tries === LAST_TRIES) return;
      await sleep(platform, LAST_WAIT_MS * 2 ** (tries - 1), hurry).catch(() => undefined);
    }
  }

  /** Says nothing more: the slot is somebody else's. */
  quit(): void {
    this.#stopped = true;
    this.#cancel();
  }

  #beatNow(): Promise<void> {
    this.#cancel();
    // One after the other, so that the newest word is the last.
    this.#sent = this.#sent.then(() => this.#send());
    return this.#sent;
  }

  async #send(): Promise<void> {
    if (this.#stopped) return;
    const { calls, onDraining } = this.#host;
    try {
      const { metadata } = await calls.beat(this.#word());
      this.#failing = false;
      onDraining(metadata['draining'] === true);
    } catch (error) {
      this.#missed(error);
    }
    this.#plan();
  }

  #missed(error: unknown): void {
    const isLost = error instanceof SpineApiError && (error.status === 409 || error.status === 404);
    if (isLost) return this.#host.onLost(this.name);
    if (!this.#failing) this.#host.log.warn('A heartbeat was not taken', { slot: this.name, error });
    this.#failing = true;
  }

  #word(): Beat {
    const { instance } = this.#host;
    const slot = this.name;
    if (this.#doing === null) return { slot, instance, status: 'idle' };
    const { job, sessionId, since } = this.#doing;
    return {
      slot,
      instance,
      status: 'working',
      task: job.id,
      attempt: job.attempt,
      taskTitle: job.title ?? `#${job.no}`,
      sessionId,
      metadata: { taskStartedAt: since },
    };
  }

  #plan(): void {
    this.#cancel();
    if (this.#stopped) return;
    const { platform, idleBeatMs, workingBeatMs } = this.#host;
    const inMs = this.#doing === null ? idleBeatMs : workingBeatMs;
    this.#cancel = platform.after(inMs, () => void this.#beatNow());
  }
}
