/** Waiting that always ends. */

import { type Platform, sleep } from '../client/platform.ts';

/** What the promise gives, or null when it takes too long or fails: for calls whose failure changes nothing. */
export async function within<T>(platform: Platform, limitMs: number, promise: Promise<T>): Promise<T | null> {
  const over = new AbortController();
  const late = sleep(platform, limitMs, over.signal).then(
    () => null,
    () => null,
  );
  try {
    return await Promise.race([promise.catch(() => null), late]);
  } finally {
    over.abort(new Error('Done.'));
  }
}

/** Rejects with the signal's reason; never resolves. Ends with `over`. */
export function rejection(signal: AbortSignal, over: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const stop = (): void => reject(signal.reason as Error);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true, signal: over });
  });
}
