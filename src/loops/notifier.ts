/** Sends what the outbox holds. At least once: a notice is removed only after the other side took it. */

import { loopActor } from '../domain/actor.ts';
import type { NoticeSender } from '../channels/operator-webhook.ts';
import type { OutboxRow } from '../domain/outbox.ts';
import { backoffDelayMs } from '../domain/retry.ts';
import type { Core } from '../engine/core.ts';
import type { Duty } from './loop.ts';

const NOTIFIER = loopActor('notifier');

const BATCH = 20;
const POLL_MS = 2_000;
/** If this server dies while sending, the notice comes up again after this. */
const SENDING_MS = 30_000;
const FIRST_RETRY_MS = 5_000;

export function notifier(core: Core, channels: readonly NoticeSender[]): Duty {
  return {
    name: 'notifier',
    everyMs: POLL_MS,
    runOnce: async () => {
      const rows = await core.flusher.transact(NOTIFIER, async (tx, changeSet) =>
        tx.outbox.claim(changeSet.now, BATCH, SENDING_MS),
      );
      await Promise.all(rows.map((row) => deliver(core, channels, row)));
      return { done: rows.length, more: rows.length === BATCH };
    },
  };
}

async function deliver(core: Core, channels: readonly NoticeSender[], row: OutboxRow): Promise<void> {
  try {
    const channel = channels.find(({ name }) => name === row.channel);
    if (channel === undefined) throw new Error(`there is no channel "${row.channel}" any more`);
    await channel.send({ id: noticeId(row), kind: row.kind, body: row.body });
    await core.flusher.transact(NOTIFIER, async (tx) => tx.outbox.remove(row.no));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const runAt = core.now() + backoffDelayMs(FIRST_RETRY_MS, row.attempts);
    await core.flusher.transact(NOTIFIER, async (tx) => tx.outbox.postpone(row.no, runAt, message));
  }
}

/** A number may come again after its notice was taken; with its time it does not. */
function noticeId({ no, at }: OutboxRow): string {
  return `${at.toString(36)}-${no}`;
}
