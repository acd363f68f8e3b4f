/** A recorded history with one fault in it each, to see that the checker would notice it. */

import { checkMail } from './check.ts';
import type { Batch, SentMessage, Story } from './story.ts';

export interface Planted {
  readonly fault: string;
  /** What the checker says of it. */
  readonly says: RegExp;
  /** Null where nothing in the history can be made wrong like this. */
  readonly story: Story | null;
}

export function planted(story: Story): readonly Planted[] {
  return [
    { fault: 'delivered twice', says: /twice, with/, story: twice(story) },
    { fault: 'in a wrong order', says: /out of order/, story: outOfOrder(story) },
    {
      fault: 'read without an acknowledgement',
      says: /read by .* who has not said so/,
      story: readUnasked(story),
    },
    { fault: 'injected after its end', says: /after its end/, story: expired(story) },
    { fault: 'lost, and counted as delivered', says: /never got it/, story: unheard(story) },
    { fault: 'lost, and left waiting', says: /never reached/, story: stuck(story) },
    { fault: 'lost without a receipt', says: /has not one receipt/, story: withoutReceipt(story) },
  ];
}

/** What the checker does not find, though it is there. A small history may have no place for some. */
export function missedViolations(story: Story): string[] {
  return planted(story).flatMap(({ fault, says, story: bad }) => {
    if (bad === null || checkMail(bad).some((words) => says.test(words))) return [];
    return [`the checker misses a message ${fault}`];
  });
}

/** It comes again a moment later, with a carrier of its own, although the server has heard of it. */
function twice(story: Story): Story | null {
  const first = story.batches.find(({ accepted }) => accepted);
  if (first === undefined) return null;
  const again = {
    ...first,
    carrier: 'another',
    askedAt: first.at,
    at: first.at + 1,
    ids: first.ids.slice(0, 1),
  };
  return { ...story, batches: [...story.batches, again].toSorted((a, b) => a.at - b.at) };
}

function outOfOrder(story: Story): Story | null {
  return withBatch(
    story,
    ({ ids }) => ids.length > 1,
    (batch) => ({ ...batch, ids: batch.ids.toReversed() }),
  );
}

/** All that were heard of it are one batch later than its end. */
function expired(story: Story): Story | null {
  const ends = new Map(story.messages.map(({ id, expires_at: end }) => [id, end]));
  const endOf = ({ ids }: Batch): string | null =>
    ids.map((id) => ends.get(id) ?? null).find(Boolean) ?? null;
  return withBatch(
    story,
    (batch) => endOf(batch) !== null,
    (batch) => ({
      ...batch,
      askedAt: Date.parse(endOf(batch) ?? ''),
      at: Date.parse(endOf(batch) ?? '') + 1,
    }),
  );
}

function readUnasked(story: Story): Story | null {
  return withReceipt(
    story,
    ({ delivered_at: delivered, read_at: read }) => delivered !== null && read === null,
    (receipt) => ({ ...receipt, read_at: receipt.delivered_at }),
  );
}

function stuck(story: Story): Story | null {
  return withReceipt(
    story,
    ({ delivered_at: delivered, read_at: read }, { expires_at: end }) =>
      delivered !== null && read === null && end === null,
    (receipt) => ({ ...receipt, delivered_at: null }),
    withoutHearing,
  );
}

function unheard(story: Story): Story | null {
  return withReceipt(
    story,
    ({ delivered_at: delivered, read_at: read }) => delivered !== null && read === null,
    (receipt) => receipt,
    withoutHearing,
  );
}

function withoutReceipt(story: Story): Story | null {
  const at = story.messages.findIndex(({ receipts }) => receipts.length > 0);
  return at === -1 ? null : withMessage(story, at, (message) => ({ ...message, receipts: [] }));
}

type Receipt = SentMessage['receipts'][number];

/** Changes the first receipt of an agent of the story that fits, and then perhaps what that agent has heard. */
function withReceipt(
  story: Story,
  fits: (receipt: Receipt, message: SentMessage) => boolean,
  change: (receipt: Receipt) => Receipt,
  then: (story: Story, id: string, agent: string) => Story = (same) => same,
): Story | null {
  for (const [at, message] of story.messages.entries()) {
    const found = message.receipts.find((each) => story.agents.includes(each.agent) && fits(each, message));
    if (found === undefined) continue;
    const receipts = message.receipts.map((each) => (each === found ? change(each) : each));
    return then(
      withMessage(story, at, (same) => ({ ...same, receipts })),
      message.id,
      found.agent,
    );
  }
  return null;
}

function withoutHearing(story: Story, id: string, agent: string): Story {
  const batches = story.batches.map((batch) =>
    batch.agent === agent ? { ...batch, ids: batch.ids.filter((each) => each !== id) } : batch,
  );
  return { ...story, batches };
}

function withMessage(story: Story, at: number, change: (message: SentMessage) => SentMessage): Story {
  return { ...story, messages: story.messages.map((message, i) => (i === at ? change(message) : message)) };
}

function withBatch(
  story: Story,
  fits: (batch: Batch) => boolean,
  change: (batch: Batch) => Batch,
): Story | null {
  const at = story.batches.findIndex(fits);
  if (at === -1) return null;
  return { ...story, batches: story.batches.map((batch, i) => (i === at ? change(batch) : batch)) };
}
