/** Shows a receiver that what came is ours. */

import { createHmac } from 'node:crypto';

/** The time and the id are signed with the body: what was heard once cannot be sent again later, or as something else. */
export function sign(secret: string | null, now: number, id: string, body: string): Record<string, string> {
  if (secret === null) return {};
  const seconds = Math.floor(now / 1_000);
  const code = createHmac('sha256', secret).update(`${seconds}.${id}.${body}`).digest('hex');
  return { 'x-spine-signature': `t=${seconds},v1=${code}` };
}
