/** Gives memory back when a server comes to rest. */

import type { Server } from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const LOOK_EVERY_MS = 1_000;
/** A server that is called no more often than this between two looks is at rest. */
const CALLS_AT_REST = 5;
/** Less is not worth the pause. */
const WORTH_BYTES = 16 * 1_048_576;

/**
 * V8 collects garbage when it needs room, so that a server that nobody calls keeps what its start and the last rush left
 * behind, often more than it has in use. To collect all of it holds up everything for 30 to 70 milliseconds, so it is
 * done when hardly anybody waits.
 */
export function giveBackAtRest(server: Server): void {
  const collectAll = collector();
  let calls = 0;
  let keptBytes = 0;
  server.on('request', () => calls++);
  setInterval(() => {
    const atRest = calls <= CALLS_AT_REST;
    calls = 0;
    if (!atRest || process.memoryUsage.rss() < keptBytes + WORTH_BYTES) return;
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
