/**
 * Gives memory back when a server comes to rest, and when a rush has left much of it behind. After some 50,000 jobs over
 * HTTP a server at rest takes 120 MB with it and 174 without, side by side on a shared 2-core machine. Its price: with the
 * objects goes what V8 has compiled for them, so that the next 30,000 calls take 1.2 to 1.7 times the processor time.
 */

import type { Server } from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const LOOK_EVERY_MS = 1_000;
/** A server that is called no more often than this between two looks is at rest. */
const CALLS_AT_REST = 5;
/** Less is not worth the pause. */
const WORTH_BYTES = 16 * 1_048_576;
/**
 * So much is worth it under load too: V8 keeps the pages that a rush has used, and under load without end it keeps those
 * of every rush. Twelve kinds of abuse one after another (`npm run proof -- abuse`) peaked 10 to 25 MB lower with it. What
 * the start has taken does not count as a rush: a server that is called from its first second on would compile everything
 * twice, and take 53 us of processor time for each of its first 40,000 creates over HTTP instead of 43.
 */
const MUCH_BYTES = 128 * 1_048_576;

/**
 * V8 collects garbage when it needs room, so that a server that nobody calls keeps what its start and the last rush left
 * behind, often more than it has in use. To collect all of it holds up everything for 30 to 70 milliseconds, so it is
 * done when hardly anybody waits.
 */
export function giveBackAtRest(server: Server): void {
  const collectAll = collector();
  let calls = 0;
  const startedBytes = process.memoryUsage.rss();
  let keptBytes = 0;
  server.on('request', () => calls++);
  setInterval(() => {
    const atRest = calls <= CALLS_AT_REST;
    calls = 0;
    const enoughBytes = atRest ? keptBytes + WORTH_BYTES : Math.max(keptBytes, startedBytes) + MUCH_BYTES;
    if (process.memoryUsage.rss() < enoughBytes) return;
    collectAll();
    keptBytes = process.memoryUsage.rss();
  }, LOOK_EVERY_MS).unref();
}

/** Asked as for its last resort, V8 gives the free pages back too. */
function collector(): () => void {
  // Only what is made while the flag is set can collect.
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as (how: { type: 'major'; flavor: 'last-resort' }) => void;
  setFlagsFromString('--no-expose-gc');
  return () => gc({ type: 'major', flavor: 'last-resort' });
}
