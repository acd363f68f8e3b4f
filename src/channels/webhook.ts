/** Posts notices to the operator's own address, signed when a secret is set. */

import { createHmac } from 'node:crypto';
import type { Channel } from './channel.ts';

const TIMEOUT_MS = 10_000;

export interface WebhookOptions {
  readonly url: string;
  readonly secret: string | null;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

export function webhook(options: WebhookOptions): Channel {
  return {
    name: 'webhook',
    send: async ({ id, kind, body }) => {
      const { secret, now } = options;
      const signature = secret === null ? {} : { 'x-spine-signature': sign(secret, now(), id, body) };
      const answer = await fetch(options.url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-spine-notice': id,
          'x-spine-kind': kind,
          ...signature,
        },
        body,
        // A redirect could lead anywhere; the operator named one address.
        redirect: 'error',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      await answer.body?.cancel();
      if (!answer.ok) throw new Error(`the webhook answered ${answer.status}`);
    },
  };
}

/** The time and the id are signed with the body: what was heard once cannot be sent again later, or as something else. */
function sign(secret: string, now: number, id: string, body: string): string {
  const seconds = Math.floor(now / 1_000);
  return `t=${seconds},v1=${createHmac('sha256', secret).update(`${seconds}.${id}.${body}`).digest('hex')}`;
}
