/** Posts a text as JSON to somebody's own URL, signed when a secret is set. Inner addresses are refused. */

import type { Channel } from './channel.ts';
import type { AddressGuard } from './guard.ts';
import { post, refused } from './post.ts';
import { sign } from './signature.ts';

export interface WebhookOptions {
  readonly guard: AddressGuard;
  readonly secret: string | null;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

export function webhook({ guard, secret, now }: WebhookOptions): Channel {
  return {
    parts: (text) => [text],
    send: async ({ id, kind, target, text, createdAt, runId, scheduleId }, signal) => {
      const url = guard.check(target);
      const at = new Date(createdAt).toISOString();
      const body = JSON.stringify({
        id,
        event: 'delivery',
        kind,
        text,
        run_id: runId,
        schedule_id: scheduleId,
        at,
      });
      const answer = await post({
        url,
        who: 'the webhook',
        headers: { 'x-spine-notice': id, 'x-spine-kind': kind, ...sign(secret, now(), id, body) },
        body,
        signal,
        lookup: guard.lookup,
      });
      // A redirect could lead anywhere, so it is an answer like any other that is not 2xx.
      if (answer.status < 200 || answer.status > 299) throw refused('the webhook', answer);
      return { status: answer.status };
    },
  };
}
