import type { Clock } from '../domain/ports.ts';

/** Waits on the clock, or until the signal is aborted. Never rejects. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    const done = (): void => {
      callOff();
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const callOff = clock.after(ms, done);
    signal?.addEventListener('abort', done, { once: true });
  });
}
