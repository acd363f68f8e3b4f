/** What is left of a request that is answered before all of it was read. */

import type { IncomingMessage } from 'node:http';
import type { Clock } from '../domain/ports.ts';

/**
 * Whoever still writes when the connection ends does not get to read why it was refused, so that most are let finish;
 * nobody has for ever.
 */
const PAST_BYTES = 64 * 1_048_576;
const PAST_MS = 5_000;

/** Whether there is a body of which not all has come in. */
export function isUnderWay(body: IncomingMessage): boolean {
  const { headers, complete, destroyed } = body;
  const announced = headers['content-length'] ?? headers['transfer-encoding'];
  return announced !== undefined && announced !== '0' && !complete && !destroyed;
}

/** Reads the rest and forgets it. Calls `done` at its end; after too much or too long of it the connection is cut. */
export function readPast(body: IncomingMessage, clock: Clock, done: () => void = () => undefined): void {
  let left = PAST_BYTES;
  const cut = (): void => void body.socket.destroy();
  const cancel = clock.after(PAST_MS, cut);
  body.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) cut();
  });
  body.once('end', done);
  body.once('close', cancel);
  body.resume();
}
