/** Posts notices to the operator's own address, signed when a secret is set. */

import { sign } from './signature.ts';

const TIMEOUT_MS = 10_000;

export interface Notice {
  /** The same for every try, so that the receiver can drop repeats. */
  readonly id: string;
  readonly kind: string;
  readonly body: string;
}

/** Where notices leave the house. */
export interface NoticeSender {
  readonly name: string;
  /** Resolves when the other side has taken it; throws when it should be tried again. */
  send(notice: Notice): Promise<void>;
}

export interface OperatorWebhookOptions {
  readonly url: string;
  readonly secret: string | null;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

export function operatorWebhook({ url, secret, now }: OperatorWebhookOptions): NoticeSender {
  return {
    name: 'webhook',
    send: async ({ id, kind, body }) => {
      const answer = await fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-spine-notice': id,
          'x-spine-kind': kind,
          ...sign(secret, now(), id, body),
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
