/** Posts notices to the operator's own address, signed when a secret is set. */

import { createHmac } from 'node:crypto';
import type { Channel } from './channel.ts';

const TIMEOUT_MS = 10_000;

export interface WebhookOptions {
  readonly url: string;
  readonly secret: string | null;
}

export function webhook(options: WebhookOptions): Channel {
  return {
    name: 'webhook',
    send: async ({ id, kind, body }) => {
      const signature = options.secret === null ? {} : { 'x-spine-signature': sign(options.secret, body) };
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

function sign(secret: string, body: string): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
}
