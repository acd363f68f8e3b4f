/** What the client needs of the machine: a clock that only goes forward, timers, randomness. Tests bring their own. */

import type { Transport } from './transport.ts';

export interface Platform {
  /** Milliseconds that only go forward; where they begin means nothing. */
  nowMs(): number;
  /** Runs the task later; the returned function calls it off. */
  after(delayMs: number, task: () => void): () => void;
  /** At least 0, below 1. */
  random(): number;
  /** Text that nobody else makes, of letters, digits and hyphens. */
  randomId(): string;
  /** What carries requests here; fetch unless said. */
  readonly transport?: (() => Promise<Transport>) | undefined;
  /** Calls back when the operating system asks this process to end; gives the way to stop listening. */
  readonly onTermination?: ((task: () => void) => Promise<() => void>) | undefined;
}

/** Longer delays would overflow the timer and fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/* oxlint-disable no-restricted-globals, no-restricted-properties -- The client runs in its user's program; this file is its clock. */
/** Any machine with a global `crypto` and `fetch`, browsers among them. */
export const systemPlatform: Platform = {
  nowMs: () => performance.now(),
  after: (delayMs, task) => {
    const timer = setTimeout(task, Math.min(Math.max(0, delayMs), LONGEST_TIMER_MS));
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
  // Browsers give randomUUID to secure pages only, random bytes to all.
  randomId: () =>
    'randomUUID' in crypto
      ? crypto.randomUUID()
      : Array.from(getRandomBytes(16), (byte) => byte.toString(16).padStart(2, '0')).join(''),
};
/* oxlint-enable no-restricted-globals, no-restricted-properties */

function getRandomBytes(count: number): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(count));
}

/** Rejects with the signal's reason when it aborts first. */
export function sleep(platform: Platform, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(reasonOf(signal));
    const abort = (): void => {
      cancel();
      reject(reasonOf(signal));
    };
    const cancel = platform.after(delayMs, () => {
      signal?.removeEventListener('abort', abort);
      resolve();
    });
    signal?.addEventListener('abort', abort, { once: true });
  });
}

/** The reason is whatever the caller gave; only its own code knows what. */
export function reasonOf(signal: AbortSignal | undefined): Error {
  return signal?.reason instanceof Error ? signal.reason : new Error('Aborted', { cause: signal?.reason });
}
