import { deepStrictEqual } from 'node:assert';
import { test } from 'node:test';
import type { DeliveryKind, SubscribedEvent } from '../../src/client/delivery-types.ts';
import { DELIVERY_KINDS } from '../../src/domain/delivery.ts';
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
