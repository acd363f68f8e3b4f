/** Names of files made from ids. Nothing a client can choose may lead out of its folder. */

import { createHash } from 'node:crypto';

const SAFE = /^[A-Za-z0-9_-]{1,64}$/;
/** Windows takes these for devices, whatever the ending. */
const DEVICES = /^(con|prn|aux|nul|com\d|lpt\d)$/i;

/** The id itself when it is a UUID or one of v0's, else a hash: `~` cannot occur in a safe id. */
export function fileNameOf(id: string): string {
  if (SAFE.test(id) && !DEVICES.test(id)) return id;
  return `~${createHash('sha256').update(id).digest('hex')}`;
}
