import { deepStrictEqual } from 'node:assert';
import { test } from 'node:test';
import type { DeliveryKind, SubscribedEvent } from '../../src/client/delivery-types.ts';
import { DELIVERY_KINDS } from '../../src/domain/delivery.ts';
import { SENT_KINDS } from '../../src/cli/declare-mail.ts';
import type { MessageKind } from '../../src/client/message-types.ts';
import { MESSAGE_KINDS } from '../../src/domain/message.ts';
import { SUBSCRIBED_EVENTS } from '../../src/domain/subscription.ts';

/** The client imports nothing of the server's, so its words are written a second time. */
test('the client names every kind of delivery and every event of a subscription', () => {
  const kinds: Readonly<Record<DeliveryKind, true>> = {
    result: true,
    failure: true,
    approval: true,
    question: true,
    event: true,
    gap: true,
    chat: true,
    budget: true,
    digest: true,
    reply: true,
    press: true,
  };
  deepStrictEqual(Object.keys(kinds), [...DELIVERY_KINDS]);
  const events: Readonly<Record<SubscribedEvent, true>> = {
    done: true,
    failed: true,
    dead: true,
    cancelled: true,
    approval: true,
    question: true,
    stale: true,
  };
  deepStrictEqual(Object.keys(events), [...SUBSCRIBED_EVENTS]);
});

test('the client and the command line name every kind of message', () => {
  const kinds: Readonly<Record<MessageKind, true>> = {
    constraint: true,
    decision: true,
    fact: true,
    task: true,
    preference: true,
    text: true,
    result: true,
    status: true,
    system: true,
    spawn: true,
  };
  deepStrictEqual(Object.keys(kinds), [...MESSAGE_KINDS]);
  deepStrictEqual(SENT_KINDS, [...MESSAGE_KINDS]);
});
