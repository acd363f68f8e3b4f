/** Work that nobody waits for makes room for work that somebody waits for. */

import { readlinkSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { basename } from 'node:path';

/**
 * To be called in a thread. With all processors busy it would take them from the thread that answers calls as often as
 * any other; as a nice one it gets what is left over, and a tenth at the least. Only Linux tells threads apart here, and
 * where it does not let itself be asked the thread goes on as it is.
 */
export function yieldToOthers(): void {
  try {
    setPriority(
      Number(basename(readlinkSync('/proc/thread-self'))),
      constants.priority.PRIORITY_BELOW_NORMAL,
    );
  } catch {}
}
