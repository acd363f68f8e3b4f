import assert from 'node:assert/strict';
import { SendError } from '../../src/channels/channel.ts';
import { type DeliveryKind, roomFor } from '../../src/domain/delivery.ts';
import { LIMITS } from '../../src/domain/limits.ts';
import { Pruner } from '../../src/loops/pruner.ts';
import { until } from '../support/clock.ts';
import { alias, deliverAll, deliveries, delivererOf, Mailbox } from '../support/delivering.ts';
import { DIALECTS, HEAD, onEvery, type Opened } from '../support/engines.ts';
import { doNext, plan, runNow } from '../support/scheduling.ts';

const DAY_MS = 86_400_000;

/** A schedule that tells @ops, and so many runs of it that have said their number. */
async function said(spine: Opened, ...texts: string[]): Promise<void> {
  await alias(spine);
  await tell(spine, '@ops', ...texts);
}

async function tell(spine: Opened, to: string, ...texts: string[]): Promise<void> {
  const made = await plan(spine, { delivery_to: to });
  for (const text of texts) {
    await runNow(spine, made);
    await doNext(spine, { text });
  }
}

/** So many for the place of @ops, each with its number. */
async function fill(spine: Opened, kind: DeliveryKind, count: number): Promise<void> {
  const at = spine.engine.now();
  const place = { alias: 'ops', channel: 'telegram', target: '1' } as const;
  const drafts = Array.from({ length: count }, (_, i) => ({
    id: `${kind}${i}`,
    kind,
    jobNo: null,
    ...place,
    text: String(i),
    at,
    dueAt: at,
    problem: null,
    buttons: null,
  }));
  await spine.engine.core.flusher.transact(HEAD, async (tx) => tx.deliveries.add(drafts));
}

onEvery(DIALECTS, (each) => {
  each('delivers in order, once, and keeps the proof and not the text [SC-50]', async (spine) => {
    await said(spine, 'one', 'two', 'three');
    const mailbox = new Mailbox();
    mailbox.act = async () => ({ messageId: '7' });
    await deliverAll(delivererOf(spine, mailbox));
    assert.deepEqual(mailbox.texts, ['one', 'two', 'three']);
    for (const delivery of await deliveries(spine)) {
      assert.equal(delivery.status, 'delivered');
      assert.equal(delivery.attempts, 1);
      assert.equal(delivery.proof, '{"messageId":"7"}');
      assert.equal(delivery.text, null);
      assert.ok(delivery.deliveredAt !== null);
    }
    await deliverAll(delivererOf(spine, mailbox));
    assert.equal(mailbox.got.length, 3);
    assert.equal(await spine.store.read.deliveries.nextAt(), null);
  });

  each('tries again after 5 and 10 seconds, with the same id, and the next waits for it', async (spine) => {
    await said(spine, 'one', 'two');
    const mailbox = new Mailbox();
    const ids: string[] = [];
    let failures = 2;
    mailbox.act = async ({ id }) => {
      ids.push(id);
      if (failures-- > 0) throw new SendError('no');
      return { status: 200 };
    };
    const deliverer = delivererOf(spine, mailbox);
    await deliverAll(deliverer);
    for (const pauseMs of [5_000, 10_000]) {
      assert.deepEqual(mailbox.texts, []);
      assert.equal((await deliveries(spine))[0]?.error, 'no');
      const before = ids.length;
      await spine.clock.advance(pauseMs - 100);
      await deliverAll(deliverer);
      assert.equal(ids.length, before, 'too early');
      await spine.clock.advance(200);
      await deliverAll(deliverer);
    }
    assert.deepEqual(mailbox.texts, ['one', 'two']);
    assert.equal(new Set(ids.slice(0, 3)).size, 1);
    const [first] = await deliveries(spine);
    assert.deepEqual([first?.attempts, first?.status, first?.error], [3, 'delivered', null]);
  });

  each('waits as long as the other side asks for', async (spine) => {
    await said(spine, 'one');
    const mailbox = new Mailbox();
    mailbox.act = () => Promise.reject(new SendError('slow down', { retryAfterMs: 60_000 }));
    const deliverer = delivererOf(spine, mailbox);
    await deliverAll(deliverer);
    mailbox.act = async () => ({ status: 200 });
    await spine.clock.advance(59_000);
    await deliverAll(deliverer);
    assert.deepEqual(mailbox.texts, []);
    await spine.clock.advance(1_001);
    await deliverAll(deliverer);
    assert.deepEqual(mailbox.texts, ['one']);
  });

  each('what is refused for good fails at once, visibly, and lets the next one go', async (spine) => {
    await said(spine, 'bad', 'good');
    const mailbox = new Mailbox();
    mailbox.act = async ({ text }) => {
      if (text === 'bad') throw new SendError('never this', { final: true });
      return { status: 200 };
    };
    await deliverAll(delivererOf(spine, mailbox));
    const [bad, good] = await deliveries(spine);
    assert.deepEqual([bad?.status, bad?.error, bad?.text], ['failed', 'never this', 'bad']);
    assert.equal(good?.status, 'delivered');
  });

  each('a dead receiver is given up after bounded tries, with all that waited for a day', async (spine) => {
    await said(spine, 'one', 'two');
    const mailbox = new Mailbox();
    mailbox.act = () => Promise.reject(new SendError('dead'));
    const deliverer = delivererOf(spine, mailbox);
    for (let hour = 0; hour < 30; hour++) {
      await deliverAll(deliverer);
      await spine.clock.advance(3_600_000);
    }
    const found = await deliveries(spine);
    assert.deepEqual(
      found.map(({ status }) => status),
      ['failed', 'failed'],
    );
    assert.ok((found[0]?.attempts ?? 0) <= 20);
    assert.equal(await spine.store.read.deliveries.nextAt(), null);
  });

  each('a failed one can be sent after all, to where its alias leads then', async (spine) => {
    await said(spine, 'one');
    const mailbox = new Mailbox();
    mailbox.act = () => Promise.reject(new SendError('no such chat', { final: true }));
    const deliverer = delivererOf(spine, mailbox);
    await deliverAll(deliverer);
    const [failed] = await deliveries(spine);
    assert.equal(failed?.status, 'failed');
    await alias(spine, 'ops', '2');
    mailbox.act = async () => ({ status: 200 });
    const again = await spine.engine.deliveries.retry(HEAD, failed?.id ?? '');
    assert.deepEqual([again.status, again.target, again.attempts], ['pending', '2', 0]);
    await deliverAll(deliverer);
    assert.deepEqual(
      mailbox.got.map(({ target, text }) => [target, text]),
      [['2', 'one']],
    );
    await assert.rejects(spine.engine.deliveries.retry(HEAD, failed?.id ?? ''), { code: 'conflict' });
  });

  each('a slow receiver holds up nobody else', async (spine) => {
    await said(spine, 'slow one', 'slow two');
    await alias(spine, 'quick', '2');
    await tell(spine, '@quick', 'quick one', 'quick two', 'quick three');
    const mailbox = new Mailbox();
    let release: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (release = resolve));
    mailbox.act = async ({ target }) => {
      if (target === '1') await gate;
      return { status: 200 };
    };
    const deliverer = delivererOf(spine, mailbox);
    await until('the quick ones are there', async () => {
      await deliverer.runOnce();
      return mailbox.got.length === 3;
    });
    assert.deepEqual(mailbox.texts, ['quick one', 'quick two', 'quick three']);
    release();
    await until('the slow one has ended', () => deliverer.sending === 0);
    await deliverAll(deliverer);
    assert.deepEqual(mailbox.texts.slice(3), ['slow one', 'slow two']);
  });

  each(
    'a server that dies after it has sent, and before it wrote that down, is followed by one that sends again',
    async (spine) => {
      await said(spine, 'one');
      const dying = new Mailbox();
      // It never comes to the second line: nothing is written down.
      dying.act = async (message) => {
        dying.got.push(message);
        return new Promise(() => undefined);
      };
      await delivererOf(spine, dying).runOnce();
      await until('it was sent', () => dying.got.length === 1);
      const next = new Mailbox();
      const deliverer = delivererOf(spine, next);
      await deliverAll(deliverer);
      assert.deepEqual(next.texts, [], 'the first may still be at it');
      await spine.clock.advance(30_001);
      await deliverAll(deliverer);
      assert.deepEqual(next.texts, ['one']);
      assert.equal(next.got[0]?.id, dying.got[0]?.id, 'by which the receiver knows it');
      assert.equal((await deliveries(spine))[0]?.attempts, 2);
    },
  );

  each('a sender whose time has run out changes nothing any more', async (spine) => {
    await said(spine, 'one', 'two');
    const slow = new Mailbox();
    let release: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (release = resolve));
    slow.act = async () => {
      await gate;
      return { messageId: 'late' };
    };
    const first = delivererOf(spine, slow);
    await first.runOnce();
    await spine.clock.advance(30_001);
    const mailbox = new Mailbox();
    mailbox.act = async ({ text }) => {
      if (text === 'two') throw new SendError('not now');
      return { messageId: 'in time' };
    };
    const second = delivererOf(spine, mailbox);
    await deliverAll(second);
    const before = await deliveries(spine);
    release();
    await until('the slow one has ended', () => first.sending === 0);
    assert.deepEqual(await deliveries(spine), before);
    assert.equal(before[0]?.proof, '{"messageId":"in time"}');
    mailbox.act = async () => ({ messageId: 'at last' });
    await deliverAll(second);
    assert.deepEqual(mailbox.texts, ['one'], 'the address is still left alone');
    await spine.clock.advance(5_001);
    await deliverAll(second);
    assert.deepEqual(mailbox.texts, ['one', 'two']);
  });

  each('a text in several messages goes on where it was broken off', async (spine) => {
    await said(spine, 'aabbcc');
    const mailbox = new Mailbox();
    mailbox.partChars = 2;
    let failures = 1;
    mailbox.act = async ({ text }) => {
      if (text === 'bb' && failures-- > 0) throw new SendError('no');
      return { messageId: text };
    };
    const deliverer = delivererOf(spine, mailbox);
    await deliverAll(deliverer);
    await spine.clock.advance(5_001);
    await deliverAll(deliverer);
    assert.deepEqual(mailbox.texts, ['aa', 'bb', 'cc']);
    assert.equal(new Set(mailbox.got.map(({ id }) => id)).size, 3, 'no part is dropped for a repeat');
    const [delivery] = await deliveries(spine);
    assert.deepEqual(JSON.parse(delivery?.proof ?? ''), {
      parts: [{ messageId: 'aa' }, { messageId: 'bb' }, { messageId: 'cc' }],
    });
  });

  each(
    'what finds no room at an address is kept as failed, and the receiver is told the number',
    async (spine) => {
      await alias(spine);
      const room = roomFor('event');
      await fill(spine, 'event', room + 5);
      const kept = await deliveries(spine);
      assert.equal(kept.filter(({ status }) => status === 'pending').length, room);
      const left = kept.filter(({ status }) => status === 'failed');
      assert.deepEqual([left.length, left[0]?.error], [5, 'no room: too many waited there already']);
      const mailbox = new Mailbox();
      const deliverer = delivererOf(spine, mailbox);
      await deliverer.runOnce();
      await until('the first has ended', () => deliverer.sending === 0);
      assert.deepEqual(mailbox.texts, ['0']);
      const last = (await deliveries(spine)).at(-1);
      assert.deepEqual([last?.kind, last?.status, last?.alias], ['gap', 'pending', 'ops']);
      assert.match(last?.text ?? '', /^5 more found no room/);
      assert.equal((await spine.engine.deliveries.retry(HEAD, left[0]?.id ?? '')).status, 'pending');
    },
  );

  each('a line of the chat takes a tenth of the room, for many of them go in one message', async (spine) => {
    await alias(spine);
    const some = (status: 'pending' | 'failed') => spine.store.read.deliveries.list({ status, limit: 10 });
    await fill(spine, 'chat', 7_980);
    assert.deepEqual(await some('failed'), []);
    await fill(spine, 'event', 3);
    assert.deepEqual(
      (await some('failed')).map(({ id }) => id),
      ['event2'],
    );
    const deliverer = delivererOf(spine, new Mailbox());
    await until('all were sent', async () => {
      await deliverer.runOnce();
      await spine.clock.advance(60_000);
      return (await some('pending')).length === 0;
    });
    // What went has left all of its room.
    await fill(spine, 'result', 801);
    assert.deepEqual(
      (await some('failed')).map(({ id }) => id),
      ['result800', 'event2'],
    );
  });

  each('an approval finds room where events and questions have taken all of theirs', async (spine) => {
    await alias(spine);
    await fill(spine, 'event', LIMITS.deliveriesPerAddress);
    await fill(spine, 'question', LIMITS.deliveriesPerAddress);
    await fill(spine, 'approval', 1);
    const statusOf = async (kind: DeliveryKind) =>
      (await deliveries(spine)).filter((each) => each.kind === kind).map(({ status }) => status);
    for (const kind of ['event', 'question'] as const) {
      const statuses = await statusOf(kind);
      assert.deepEqual([statuses[0], statuses.at(-1)], ['pending', 'failed'], kind);
    }
    assert.deepEqual(await statusOf('approval'), ['pending']);
  });

  each('a failed one that is tried again at another place is sent there as a whole', async (spine) => {
    await said(spine, 'aabbcc');
    const mailbox = new Mailbox();
    mailbox.partChars = 2;
    mailbox.act = async ({ text }) => {
      if (text === 'cc') throw new SendError('no', { final: true });
      return { messageId: text };
    };
    await deliverAll(delivererOf(spine, mailbox));
    const [half] = await deliveries(spine);
    assert.deepEqual([half?.status, half?.partsSent], ['failed', 2]);
    await alias(spine, 'ops', '2');
    await spine.engine.deliveries.retry(HEAD, half?.id ?? '');
    const other = new Mailbox();
    await deliverAll(delivererOf(spine, other));
    assert.deepEqual(other.texts, ['aabbcc']);
    const [sent] = await deliveries(spine);
    assert.deepEqual([sent?.status, sent?.proof], ['delivered', '{"status":200}']);
  });

  each(
    'a stopping server lets what it sends come to an end, and gives the rest on at once',
    async (spine) => {
      await said(spine, 'one');
      const mailbox = new Mailbox();
      mailbox.act = (_, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(new SendError('called off')));
        });
      const deliverer = delivererOf(spine, mailbox);
      await deliverer.runOnce();
      deliverer.callOff();
      await deliverer.rest();
      const next = new Mailbox();
      await deliverAll(delivererOf(spine, next));
      assert.deepEqual(next.texts, ['one']);
    },
  );

  each(
    'what was delivered or has failed is forgotten after the retention time; what waits is not',
    async (spine) => {
      await said(spine, 'one');
      await deliverAll(delivererOf(spine, new Mailbox()));
      await spine.clock.advance(2 * DAY_MS);
      await tell(spine, '@ops', 'two');
      const pruner = new Pruner(spine.engine.core, {
        everyMs: 60_000,
        retentionMs: DAY_MS,
        forget: async () => undefined,
      });
      await pruner.runOnce();
      assert.deepEqual(
        (await deliveries(spine)).map(({ text }) => text),
        ['two'],
      );
      await spine.clock.advance(2 * DAY_MS);
      await pruner.runOnce();
      assert.equal((await deliveries(spine)).length, 1);
    },
  );
});
