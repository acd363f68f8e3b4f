import assert from 'node:assert/strict';
import type { Actor } from '../../src/domain/command.ts';
import { LIMITS } from '../../src/domain/limits.ts';
import {
  type Message,
  MESSAGE_KINDS,
  type MessageFilter,
  type MessageKind,
  rankOf,
  statusOf,
} from '../../src/domain/message.ts';
import type { MessageDraft } from '../../src/engine/engine.ts';
import { mail } from '../../src/loops/mail.ts';
import type { Store, Tx } from '../../src/store/store.ts';
import {
  claimNext,
  create,
  DIALECTS,
  HEAD,
  onEvery,
  type Opened,
  refused,
  worker,
} from '../support/engines.ts';

const ALICE = worker('alice');
const BOB = worker('bob');

const send = (spine: Opened, draft: Partial<MessageDraft> = {}, by: Actor = HEAD) =>
  spine.engine.messages.send(by, { kind: 'text', to: 'alice', body: 'hello', ...draft });

const bodies = (messages: readonly { readonly body: string }[] | undefined): string[] =>
  (messages ?? []).map(({ body }) => body);

/** Claims a new job and answers what came with it. */
async function claimMail(spine: Opened, by: Actor = ALICE) {
  await create(spine);
  const [claimed] = await claimNext(spine, { by });
  assert.ok(claimed);
  return { job: claimed.job, messages: bodies(claimed.messages) };
}

/** So many that wait for an agent. Where no sender is given, nobody asks for the messages themselves. */
async function fillMailbox(
  spine: Opened,
  agent: string,
  sender: string | null,
  count: number,
): Promise<void> {
  const none = { subject: null, owner: null, replyTo: null, threadNo: null, scheduleId: null, jobNo: null };
  const open = { ...none, error: null, deliveredAt: null, expiresAt: null, status: 'pending' } as const;
  const plain = { kind: 'text', priority: 0, rank: rankOf('text', 0), body: 'x', createdAt: 0 } as const;
  await spine.engine.core.flusher.transact(HEAD, async (tx) => {
    const insert = (i: number) =>
      tx.messages.insert({ ...open, ...plain, recipient: agent, sender: sender ?? '', id: `${sender}-${i}` });
    const all = Array.from({ length: count }, (_, i) => i);
    const nos = sender === null ? all.map((i) => 1_000_000 + i) : await Promise.all(all.map(insert));
    const receipt = { agent, rank: plain.rank, expiresAt: null, open: true, jobNo: null, fence: 0 };
    await tx.receipts.add(
      nos.map((messageNo) => ({ ...receipt, messageNo, deliveredAt: null, readAt: null })),
    );
  });
}

const look = (spine: Opened) => mail(spine.engine.core, 1_000).runOnce();

/** Tells of every look at receipts within a transaction. */
function lookedAt(store: Store, look: () => void): Store {
  const watched = (tx: Tx): Tx =>
    new Proxy(tx, {
      get: (target, name, self) => {
        if (name === 'receipts') look();
        return Reflect.get(target, name, self) as unknown;
      },
    });
  return new Proxy(store, {
    get: (target, name) => {
      if (name === 'transaction')
        return <T>(lane: number, work: (tx: Tx) => Promise<T>) =>
          target.transaction(lane, (tx) => work(watched(tx)));
      const value = Reflect.get(target, name, target) as unknown;
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

async function receiptsOf(spine: Opened, id: string) {
  const { receipts } = await spine.engine.messages.get(HEAD, id);
  return receipts.map(({ agent, deliveredAt, readAt }) => [agent, deliveredAt !== null, readAt !== null]);
}

onEvery(DIALECTS, (each) => {
  each(
    'messages come in the order of their kinds, then the urgent first, then the older [SC-11 SC-32 SC-33 SC-66]',
    async (spine) => {
      const kinds = MESSAGE_KINDS.filter((kind) => kind !== 'spawn');
      for (const kind of kinds.toReversed()) await send(spine, { kind, body: kind });
      await send(spine, { kind: 'constraint', body: 'urgent constraint', priority: 2 });
      await send(spine, { kind: 'text', body: 'urgent text', priority: 2 });
      await send(spine, { kind: 'text', body: 'high text', priority: 1 });
      const { messages } = await claimMail(spine);
      assert.deepEqual(messages, [
        'urgent constraint',
        ...kinds.slice(0, 5),
        'urgent text',
        'high text',
        'system',
        'status',
        'result',
        'text',
      ]);
    },
  );

  each('what has run out is handed to nobody, without a sweep [SC-69]', async (spine) => {
    const now = spine.engine.now();
    const gone = await send(spine, { body: 'gone', expiresAt: now });
    await send(spine, { body: 'for a second', expiresAt: now + 1_000 });
    await send(spine, { body: 'for two', expiresAt: now + 2_000 });
    await spine.clock.advance(1_000);
    assert.deepEqual((await claimMail(spine)).messages, ['for two']);
    assert.equal(statusOf(await spine.engine.messages.get(HEAD, gone.id), spine.engine.now()), 'expired');
    const unread = await spine.engine.messages.unread(HEAD, 'alice', { rank: -1, no: 0 }, 10);
    assert.deepEqual(bodies(unread), ['for two']);
    await look(spine);
    assert.deepEqual(await spine.store.read.receipts.agentsWaiting(10), ['alice']);
  });

  each(
    'what runs out on its way has arrived all the same, and goes with a lease that is lost [SC-68 SC-69]',
    async (spine) => {
      for (const isHeld of [true, false]) {
        const { id } = await send(spine, { body: 'soon over', expiresAt: spine.engine.now() + 1_000 });
        const { job, messages } = await claimMail(spine);
        assert.deepEqual(messages, ['soon over']);
        if (!isHeld) await spine.engine.leases.giveBack(ALICE, [{ job }], false);
        await spine.clock.advance(2_000);
        await look(spine);
        if (isHeld) await spine.engine.leases.heartbeat(ALICE, job.id, job.leaseToken, null);
        assert.deepEqual(await receiptsOf(spine, id), [['alice', isHeld, false]]);
        assert.deepEqual(await spine.store.read.receipts.agentsWaiting(10), []);
        await spine.engine.jobs.cancel(HEAD, job.id, null);
        if (isHeld) await spine.engine.leases.release(ALICE, job.id, job.leaseToken, null);
      }
    },
  );

  each(
    'what comes with a repeated claim has arrived with the next call, and does not come again [SC-68]',
    async (spine) => {
      const { leases } = spine.engine;
      await create(spine);
      const options = { targets: ['any'], max: 1, waitMs: 0, claimId: 'once more' };
      const [first] = await leases.claimNext(ALICE, options);
      const { id } = await send(spine, { body: 'meanwhile' });
      const [again] = await leases.claimNext(ALICE, options);
      assert.ok(first && again);
      assert.deepEqual([again.job.leaseToken, bodies(again.messages)], [first.job.leaseToken, ['meanwhile']]);
      const beat = await leases.heartbeat(ALICE, first.job.id, first.job.leaseToken, null);
      assert.deepEqual(bodies(beat.messages), []);
      assert.deepEqual(await receiptsOf(spine, id), [['alice', true, false]]);
    },
  );

  each('what came with a claim has arrived with the next call under its lease [SC-68]', async (spine) => {
    for (const call of ['heartbeat', 'complete', 'fail', 'release', 'snooze'] as const) {
      const { id } = await send(spine, { body: call });
      const { job, messages } = await claimMail(spine);
      assert.deepEqual(messages, [call]);
      assert.deepEqual(await receiptsOf(spine, id), [['alice', false, false]], call);
      const { leases } = spine.engine;
      const [by, name, token] = [ALICE, job.id, job.leaseToken] as const;
      if (call === 'heartbeat') await leases.heartbeat(by, name, token, null);
      if (call === 'complete') await leases.complete(by, name, token, null);
      if (call === 'fail') await leases.fail(by, name, token, 'broken', false);
      if (call === 'release') await leases.release(by, name, token, null);
      if (call === 'snooze') await spine.engine.jobs.snooze(by, name, spine.engine.now() + 9_000, token);
      assert.deepEqual(await receiptsOf(spine, id), [['alice', true, false]], call);
      if (call !== 'complete' && call !== 'fail') await spine.engine.jobs.cancel(HEAD, name, null);
      if (call === 'heartbeat') await leases.release(by, name, token, null);
    }
  });

  each('what went with a lease that was lost is handed out again, in its order [SC-68]', async (spine) => {
    await send(spine, { body: 'first' });
    const { job, messages } = await claimMail(spine);
    assert.deepEqual(messages, ['first']);
    // Meanwhile nobody else gets it, not even a second job of the same agent.
    assert.deepEqual((await claimMail(spine)).messages, []);
    await spine.engine.leases.giveBack(ALICE, [{ job }], false);
    await look(spine);
    await send(spine, { body: 'second' });
    const again = await claimNext(spine, { by: ALICE });
    assert.deepEqual(bodies(again[0]?.messages), ['first', 'second']);
  });

  each('a claim that is repeated under its name brings its messages again', async (spine) => {
    await send(spine);
    await create(spine);
    const claim = () => claimNext(spine, { by: ALICE, claimId: 'c' });
    assert.deepEqual(bodies((await claim())[0]?.messages), ['hello']);
    assert.deepEqual(bodies((await claim())[0]?.messages), ['hello']);
  });

  each('a heartbeat brings what came meanwhile, and says what has arrived [SC-11 SC-68]', async (spine) => {
    const { job } = await claimMail(spine);
    const beat = async (received?: readonly string[]) =>
      (await spine.engine.leases.heartbeat(ALICE, job.id, job.leaseToken, null, received && { received }))
        .messages;
    assert.equal(await beat(), undefined);
    const one = await send(spine, { body: 'one' });
    const two = await send(spine, { body: 'two' });
    assert.deepEqual(bodies(await beat()), ['one', 'two']);
    // The answer was lost on its way, or half of it: whoever says what has come gets the rest again.
    assert.deepEqual(bodies(await beat([])), ['one', 'two']);
    assert.deepEqual(bodies(await beat([one.id])), ['two']);
    assert.deepEqual(await receiptsOf(spine, one.id), [['alice', true, false]]);
    assert.deepEqual(await receiptsOf(spine, two.id), [['alice', false, false]]);
    await spine.engine.leases.complete(ALICE, job.id, job.leaseToken, null, []);
    assert.deepEqual(await receiptsOf(spine, two.id), [['alice', false, false]]);
    assert.deepEqual((await claimMail(spine)).messages, ['two']);
  });

  each('a call of somebody else shows nothing of what the holder has got', async (spine) => {
    const { id } = await send(spine);
    const { job } = await claimMail(spine);
    await spine.engine.leases.heartbeat(HEAD, job.id, job.leaseToken, null);
    assert.deepEqual(await receiptsOf(spine, id), [['alice', false, false]]);
    await spine.engine.leases.complete(HEAD, job.id, null, null);
    assert.deepEqual((await claimMail(spine)).messages, ['hello']);
  });

  each(
    'whoever takes a task by its status sees what goes with it; what somebody else takes for it brings nothing [SC-68]',
    async (spine) => {
      const { engine } = spine;
      const { id } = await send(spine);
      const { id: given } = await create(spine, { target: 'alice' });
      const seen = () => engine.jobs.get(HEAD, given);
      const begin = { status: 'in_progress', countsRetry: false, bot: ALICE } as const;
      const bySomebody = await engine.bots.change(HEAD, await seen(), {}, begin);
      assert.deepEqual([bySomebody.state, bySomebody.mailed], ['running', false]);
      await engine.bots.move(ALICE, bySomebody, { ...begin, status: 'completed' });
      assert.deepEqual(await receiptsOf(spine, id), [['alice', false, false]]);

      const task = await create(spine, { target: 'alice' });
      const taken = await engine.tasks.change(ALICE, task, {
        status: 'in-progress',
        metadata: null,
        note: null,
      });
      assert.deepEqual(bodies(await engine.messages.carried(ALICE, taken)), ['hello']);
      assert.deepEqual(bodies(await engine.messages.carried(BOB, taken)), []);
      // The answer is lost: nothing is on its way any more, and the end says nothing of it.
      await engine.messages.takenBack(taken);
      assert.deepEqual(bodies(await engine.messages.carried(ALICE, taken)), []);
      await engine.leases.complete(ALICE, taken.id, null, null);
      assert.deepEqual(await receiptsOf(spine, id), [['alice', false, false]]);
    },
  );

  each('many at once come in several answers', async (spine) => {
    for (let i = 0; i < LIMITS.messagesPerCall + 3; i++) await send(spine, { body: `${i}` });
    const { job, messages } = await claimMail(spine);
    const next = await spine.engine.leases.heartbeat(ALICE, job.id, job.leaseToken, null);
    assert.deepEqual([messages.length, bodies(next.messages)], [LIMITS.messagesPerCall, ['20', '21', '22']]);
  });

  each(
    'a broadcast reaches every agent once, each with a receipt, but not its sender [SC-68 SC-80]',
    async (spine) => {
      for (const id of ['alice', 'bob']) await spine.engine.agents.register(HEAD, { id });
      const { id } = await send(
        spine,
        { to: 'broadcast', body: 'all hands', expiresAt: spine.engine.now() + 9_000 },
        BOB,
      );
      assert.deepEqual((await claimMail(spine)).messages, ['all hands']);
      assert.deepEqual((await claimMail(spine, BOB)).messages, []);
      // Who comes to be known later gets it while it lasts, and once.
      await claimMail(spine, worker('carol'));
      await look(spine);
      assert.deepEqual((await claimMail(spine, worker('carol'))).messages, ['all hands']);
      await look(spine);
      assert.deepEqual((await claimMail(spine, worker('carol'))).messages, []);
      await spine.clock.advance(9_000);
      await spine.engine.agents.register(HEAD, { id: 'late' });
      assert.deepEqual(
        (await receiptsOf(spine, id)).map(([agent]) => agent),
        ['alice', 'carol'],
      );
    },
  );

  each(
    'a message that is sent twice under one key goes out once, also when both come at once',
    async (spine) => {
      const draft = { kind: 'text', to: 'alice', body: 'hello' } as const;
      const key = { key: 'k1', bodyHash: 'one' };
      const twice = () => spine.engine.messages.send(BOB, draft, key);
      const [one, other] = await Promise.all([twice(), twice()]);
      assert.equal(one.id, other.id);
      assert.notEqual(one.replayed, other.replayed);
      assert.equal((await twice()).id, one.id);
      const changed = spine.engine.messages.send(BOB, draft, { ...key, bodyHash: 'two' });
      assert.equal((await refused(changed)).code, 'idempotency_conflict');
      assert.deepEqual((await claimMail(spine)).messages, ['hello']);
      assert.notEqual((await spine.engine.messages.send(ALICE, draft, key)).id, one.id);
    },
  );

  each(
    'one sender fills its share of a mailbox, by broadcasts too, and others still find room',
    async (spine) => {
      await spine.engine.agents.register(HEAD, { id: 'carol' });
      const share = LIMITS.waitingMessages / LIMITS.mailboxShares;
      await fillMailbox(spine, 'carol', 'alice', share - 1);
      const toAll = (by: Actor) => send(spine, { to: 'broadcast' }, by);
      assert.deepEqual((await toAll(ALICE)).receipts.length, 1);
      assert.equal((await refused(toAll(ALICE))).code, 'mailbox_full');
      const full = await refused(send(spine, { to: 'carol' }, ALICE));
      assert.deepEqual([full.code, full.details['limit']], ['mailbox_full', share]);
      await send(spine, { to: 'carol' }, BOB);
      assert.deepEqual((await toAll(BOB)).receipts.length, 1);
      await fillMailbox(spine, 'carol', null, LIMITS.waitingMessages - 2 * share - 2);
      assert.equal((await refused(send(spine, { to: 'carol' }, BOB))).code, 'mailbox_full');
      await send(spine, { to: 'carol' });
    },
  );

  each(
    'a worker makes up only so many names, and those that nobody has can be cleared away',
    async (spine) => {
      const names = Array.from({ length: LIMITS.unknownOfOne }, (_, i) => `nobody-${i}`);
      for (const to of names) await send(spine, { to }, ALICE);
      const { details, message } = await refused(send(spine, { to: 'one-more' }, ALICE));
      assert.equal(details['limit'], LIMITS.unknownOfOne);
      assert.match(message, /^Messages of alice wait for 20 names/);
      await send(spine, { to: 'one-more' }, BOB);
      await spine.engine.agents.remove(HEAD, 'nobody-0');
      assert.equal((await refused(spine.engine.agents.remove(HEAD, 'nobody-0'))).code, 'not_found');
      await send(spine, { to: 'another' }, ALICE);
      const now = spine.engine.now();
      const later = { brief: now + 1, before: now + 1, now };
      await spine.engine.core.flusher.transact(HEAD, async (tx) => tx.messages.dropOld(later, 1_000));
      assert.deepEqual(await spine.store.read.receipts.agentsWaiting(100), []);
    },
  );

  each(
    'names of which nobody was heard fill nothing: so many of them, and so much for each [SC-11]',
    async (spine) => {
      const { agents } = spine.engine;
      const names = Array.from({ length: LIMITS.unknownRecipients }, (_, i) => `nobody-${i}`);
      await Promise.all(names.map((to) => send(spine, { to })));
      const { code, details, message } = await refused(send(spine, { to: 'one-more' }));
      assert.deepEqual(
        [code, details],
        ['mailbox_full', { agent: 'one-more', limit: LIMITS.unknownRecipients, retryAfterS: 60 }],
      );
      assert.match(message, /correct the name, or register the agent first/);
      // Those that wait already get more, up to their own limit, and so does whoever is known.
      await send(spine, { to: 'nobody-0' });
      await agents.register(HEAD, { id: 'one-more' });
      await send(spine, { to: 'one-more' });
      const more = Array.from({ length: LIMITS.waitingForUnknown - 2 }, () =>
        send(spine, { to: 'nobody-0' }),
      );
      await Promise.all(more);
      assert.deepEqual((await refused(send(spine, { to: 'nobody-0' }))).details, {
        agent: 'nobody-0',
        limit: LIMITS.waitingForUnknown,
        retryAfterS: 60,
      });
      await agents.register(HEAD, { id: 'nobody-0' });
      await send(spine, { to: 'nobody-0' });
      // There is room for another name again.
      await send(spine, { to: 'late' });
    },
  );

  each('one call for what has few matches looks no further than at 2,000 messages', async (spine) => {
    const { engine, store } = spine;
    const oldest = await send(spine, { kind: 'fact' });
    const fill: Omit<Message, 'no'> = { ...oldest, kind: 'text', sender: 'bob' };
    await store.transaction(0, async (tx) => {
      for (let i = 0; i < 4_500; i++) await tx.messages.insert({ ...fill, id: `${oldest.id}-${i}` });
    });
    const newest = await send(spine, { kind: 'fact' });
    const all = async (filter: Omit<MessageFilter, 'limit'>) => {
      const pages: (readonly string[])[] = [];
      for (let before: number | null = Number.MAX_SAFE_INTEGER; before !== null && pages.length < 9; ) {
        const page: Awaited<ReturnType<typeof engine.messages.list>> = await engine.messages.list(HEAD, {
          ...filter,
          before,
          limit: 10,
        });
        pages.push(page.messages.map(({ id }) => id));
        before = page.next;
      }
      return pages;
    };
    const found = [[newest.id], [], [oldest.id]];
    for (const filter of [
      { kind: 'fact' },
      { kind: 'fact', to: 'alice' },
      { kind: 'fact', of: 'alice', status: 'pending' },
    ] as const)
      assert.deepEqual(await all(filter), found, JSON.stringify(filter));
    // What an index finds is found at once.
    assert.deepEqual(await all({ from: newest.sender }), [[newest.id, oldest.id]]);
    assert.deepEqual(await all({ kind: 'fact', from: newest.sender }), [[newest.id, oldest.id]]);
  });

  each('an agent and its broadcast never miss each other', async (spine) => {
    const names = Array.from({ length: 20 }, (_, i) => `agent-${i}`);
    const sent = names.map(() => send(spine, { to: 'broadcast' }));
    await Promise.all([...names.map((id) => spine.engine.agents.register(HEAD, { id })), ...sent]);
    // One comes when all is said, and one comes twice.
    for (const id of ['agent-0', 'late']) await spine.engine.agents.register(HEAD, { id });
    for (const message of sent)
      assert.deepEqual(
        (await receiptsOf(spine, (await message).id)).map(([agent]) => agent),
        [...names, 'late'].toSorted(),
      );
  });

  each('a thread is the whole tree, from whichever message it is asked for [SC-67]', async (spine) => {
    const root = await send(spine, { from: 'bob', body: 'root' });
    const reply = (to: string, body: string, by: Actor) =>
      spine.engine.messages.send(by, { kind: 'text', body, replyTo: to });
    const first = await reply(root.id, 'first', ALICE);
    assert.equal(first.recipient, 'bob');
    const second = await reply(first.id, 'second', BOB);
    await spine.engine.messages.send(BOB, { kind: 'text', body: 'aside', to: 'carol', replyTo: first.id });
    const third = await reply(second.id, 'third', ALICE);
    for (const { id } of [root, second, third])
      assert.deepEqual(bodies(await spine.engine.messages.thread(HEAD, id, 0, 10)), [
        'root',
        'first',
        'second',
        'aside',
        'third',
      ]);
    assert.deepEqual(bodies(await spine.engine.messages.thread(ALICE, third.id, 0, 10)), [
      'root',
      'first',
      'second',
      'third',
    ]);
    assert.equal((await refused(reply(root.id, 'x', worker('mallory')))).code, 'bad_request');
    assert.equal(
      (await refused(spine.engine.messages.thread(worker('mallory'), root.id, 0, 9))).code,
      'not_found',
    );
  });

  each('only an acknowledgement makes a message read, for the one who gives it [SC-68]', async (spine) => {
    for (const id of ['alice', 'bob']) await spine.engine.agents.register(HEAD, { id });
    const { id } = await send(spine, { to: 'broadcast' });
    await claimMail(spine);
    assert.deepEqual(await receiptsOf(spine, id), [
      ['alice', false, false],
      ['bob', false, false],
    ]);
    assert.equal((await refused(spine.engine.messages.read(HEAD, id))).details['field'], 'agent');
    assert.equal((await refused(spine.engine.messages.read(ALICE, id, 'bob'))).code, 'forbidden');
    await spine.engine.messages.read(ALICE, id);
    assert.deepEqual(await receiptsOf(spine, id), [
      ['alice', true, true],
      ['bob', false, false],
    ]);
    assert.equal(await spine.engine.messages.countUnread(HEAD, 'bob'), 1);
    assert.equal(await spine.engine.messages.readAll(BOB, 'bob'), 1);
    assert.equal(statusOf(await spine.engine.messages.get(HEAD, id), spine.engine.now()), 'read');
    // Whoever has read it is not handed it again.
    assert.deepEqual((await claimMail(spine, BOB)).messages, []);
    assert.equal((await refused(spine.engine.messages.read(HEAD, id, 'nobody'))).code, 'not_found');
  });

  each(
    'a constraint or decision to another needs a grant, and a run has no more than its holder',
    async (spine) => {
      const granted: Actor = { ...BOB, grants: ['decision'] };
      for (const [by, kind, to, may] of [
        [HEAD, 'constraint', 'alice', true],
        [BOB, 'constraint', 'alice', false],
        [BOB, 'constraint', 'bob', true],
        [BOB, 'fact', 'alice', true],
        [BOB, 'decision', 'broadcast', false],
        [granted, 'decision', 'broadcast', true],
        [granted, 'constraint', 'alice', false],
      ] as const satisfies readonly (readonly [Actor, MessageKind, string, boolean])[]) {
        const sent = send(spine, { kind, to }, by);
        if (may) await sent;
        else assert.equal((await refused(sent)).details['grant'], kind);
      }
      const { token } = await spine.engine.tokens.add(HEAD, {
        name: 'carol',
        role: 'worker',
        targets: null,
        grants: ['constraint'],
      });
      assert.deepEqual((await spine.engine.tokens.actorBehind(token))?.grants, ['constraint']);
      const job = await create(spine);
      const { job: held } = await spine.engine.leases.claim(worker('carol'), job.id);
      const run = await spine.engine.tokens.actorBehind(`run.${job.id}.${held.leaseToken}`);
      assert.deepEqual([run?.role, run?.grants], ['run', ['constraint']]);
      await spine.engine.tokens.revoke(HEAD, 'carol');
      assert.deepEqual(await spine.engine.core.tokens.grantsOf('carol'), []);
    },
  );

  each('agents that answer each other without end are stopped, and it is said once', async (spine) => {
    let sent = 0;
    const pingPong = async (): Promise<void> => {
      for (; ; sent++)
        await send(spine, { to: sent % 2 === 0 ? 'bob' : 'alice' }, sent % 2 === 0 ? ALICE : BOB);
    };
    const refusal = await refused(pingPong());
    assert.deepEqual([refusal.code, sent], ['rate_limited', 2 * LIMITS.messagesPerWindow]);
    assert.ok(sent < 1_000);
    assert.equal(refusal.details['retryAfterS'], LIMITS.messageWindowMs / 1_000);
    assert.equal((await refused(send(spine, {}, BOB))).code, 'rate_limited');
    assert.equal((await refused(send(spine, {}, BOB))).code, 'rate_limited');
    const entries = (await spine.engine.audit.list(null, 10)).filter(
      ({ action }) => action === 'message.limited',
    );
    assert.deepEqual(entries.map(({ subject }) => subject).toSorted(), ['alice', 'bob']);
    // The operator goes on, and so do they when the time is up.
    await send(spine);
    await spine.clock.advance(LIMITS.messageWindowMs);
    await send(spine, {}, BOB);
  });

  each('workers are agents by their names, and are seen as they call [SC-80]', async (spine) => {
    await spine.engine.tokens.add(HEAD, { name: 'alice', role: 'worker', targets: null });
    assert.deepEqual(
      (await spine.engine.agents.list()).map(({ id, lastSeenAt, registered }) => [
        id,
        lastSeenAt,
        registered,
      ]),
      [['alice', null, false]],
    );
    await claimMail(spine, BOB);
    await look(spine);
    const bob = await spine.engine.agents.get('bob');
    assert.deepEqual([bob.lastSeenAt, bob.status], [spine.engine.now(), 'busy']);
    await spine.clock.advance(1_000);
    await claimNext(spine, { by: BOB });
    await spine.engine.agents.register(HEAD, { id: 'bob', name: 'Bob', capabilities: ['gpu'] });
    await look(spine);
    const again = await spine.engine.agents.get('bob');
    assert.deepEqual(
      [again.name, again.capabilities, again.status, again.lastSeenAt, again.registered],
      ['Bob', ['gpu'], 'idle', spine.engine.now(), true],
    );
    for (const id of ['broadcast', 'scheduler', 'system'])
      assert.equal((await refused(spine.engine.agents.register(HEAD, { id }))).details['field'], 'id');
    await spine.engine.agents.remove(HEAD, 'bob');
    assert.equal((await refused(spine.engine.agents.get('bob'))).code, 'not_found');
  });

  let looks = 0;
  each(
    'a caller without messages asks the database nothing about them',
    async (spine) => {
      await send(spine, { to: 'bob' });
      looks = 0;
      const { job } = await claimMail(spine);
      await spine.engine.leases.heartbeat(ALICE, job.id, job.leaseToken, null);
      await spine.engine.leases.complete(ALICE, job.id, job.leaseToken, null);
      assert.equal(looks, 0);
      await claimMail(spine, BOB);
      assert.ok(looks > 0);
    },
    { wrap: (store) => lookedAt(store, () => looks++) },
  );
});

onEvery(DIALECTS, (each) => {
  each(
    'what is sent on another server is known there after one look at the latest [SC-11]',
    async (spine) => {
      if (spine.another === null) return;
      await using other = await spine.another();
      await send(other);
      await create(spine);
      await look(spine);
      assert.deepEqual(bodies((await claimNext(spine, { by: ALICE }))[0]?.messages), ['hello']);
      // And the other server learns that they have arrived, by the job's own row.
      const [running] = await spine.engine.jobs.list(HEAD, {
        states: ['running'],
        order: 'oldest',
        limit: 1,
      });
      assert.ok(running);
      await other.engine.leases.complete(ALICE, running.id, running.leaseToken, null);
      const [message] = (await other.engine.messages.list(HEAD, { limit: 1 })).messages;
      assert.equal(message && statusOf(message, other.engine.now()), 'delivered');
    },
  );
});

const RANKS: readonly (readonly [MessageKind, number, number])[] = [
  ['constraint', 2, 0],
  ['constraint', 0, 2],
  ['preference', 2, 12],
  ['text', 2, 15],
  ['system', 0, 17],
];
for (const [kind, priority, rank] of RANKS) assert.equal(rankOf(kind, priority), rank, kind);
