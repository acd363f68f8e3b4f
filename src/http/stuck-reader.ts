/** Whoever asks for a file, or a long answer, and does not read it would keep it open, or in memory, for ever. */

import type { ServerResponse } from 'node:http';
import type { Clock } from '../domain/ports.ts';

/** As long as other answers have to be taken; here for a piece of it, however long the whole may take. */
const STILL_MS = 60_000;

/** Ends the connection when nothing was taken in so long. */
export function endWhenStill(raw: ServerResponse, clock: Pick<Clock, 'after'>): void {
  let before = -1;
  let cancel = (): void => undefined;
  const look = (): void => {
    const written = raw.socket?.bytesWritten ?? 0;
    if (written === before) return void raw.destroy();
    before = written;
    cancel = clock.after(STILL_MS, look);
  };
  raw.once('close', () => cancel());
  look();
}
