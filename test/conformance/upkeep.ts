import assert from 'node:assert/strict';
import type { Audit } from '../../src/domain/audit.ts';
import type { Blob } from '../../src/domain/blob.ts';
import { SETTLED } from '../../src/domain/job.ts';
import type { Token } from '../../src/domain/token.ts';
import type { Tx } from '../../src/store/store.ts';
import { type Each, type Opened, outboxSize } from '../support/engines.ts';
import { doNext, plan, runNow, runsOf } from '../support/scheduling.ts';
import { row } from './rows.ts';

export function upkeepTopics(each: Each): void {
  each('hands out due notices for a while, and again when nobody said that they went out', async (spine) => {
    await within(spine, async (tx) => {
      await tx.outbox.add([notice('first', 10), notice('second', 20), notice('later', 99)]);
    });
    const first = await within(spine, async (tx) => tx.outbox.claim(50, 10, 1_000));
    assert.deepEqual(
      first.map((row) => [row.kind, row.attempts, row.body]),
      [
        ['first', 1, '{"ü":1}'],
        ['second', 1, '{"ü":1}'],
      ],
    );
    assert.deepEqual(await within(spine, async (tx) => tx.outbox.claim(51, 10, 1_000)), []);
    const [one, two] = await within(spine, async (tx) => tx.outbox.claim(1_050, 2, 1_000));
    assert.deepEqual([one?.kind, two?.kind, two?.attempts], ['later', 'first', 2]);
    await within(spine, async (tx) => tx.outbox.remove(two?.no ?? 0));
    await within(spine, async (tx) => tx.outbox.postpone(one?.no ?? 0, 9_999, 'down'));
    assert.equal(await outboxSize(spine.store), 2);
    assert.deepEqual(
      (await within(spine, async (tx) => tx.outbox.claim(9_998, 10, 1))).map((row) => row.kind),
      ['second'],
    );
  });

  each('pauses and resumes, and raises the revision each time', async (spine) => {
    const { store } = spine;
    const type = await within(spine, async (tx) =>
      tx.types.save(
        {
          name: 't',
          label: 'T',
          sop: null,
          paramsSchema: null,
          maxRetries: 3,
          backoffMs: null,
          scoring: null,
          provider: null,
          onlyIfMissing: false,
        },
        1,
      ),
    );
    const start = (await store.read.routing.current()).revision;
    await within(spine, async (tx) =>
      tx.routing.pause({ kind: 'target', name: 'a', at: 5, by: 'ann', untilAt: null }),
    );
    await within(spine, async (tx) =>
      tx.routing.pause({ kind: 'type', name: 't', at: 6, by: 'bob', untilAt: null }),
    );
    await within(spine, async (tx) =>
      tx.routing.pause({ kind: 'target', name: 'a', at: 7, by: 'late', untilAt: null }),
    );
    const paused = await store.read.routing.current();
    assert.deepEqual([[...paused.pausedTargets], [...paused.pausedTypes]], [['a'], [type.no]]);
    assert.deepEqual(paused.pauses.map((pause) => pause.by).toSorted(), ['ann', 'bob']);
    assert.ok(paused.revision >= start + 2);
    await within(spine, async (tx) => tx.routing.resume('target', 'a'));
    const resumed = await store.read.routing.current();
    assert.deepEqual([...resumed.pausedTargets], []);
    assert.ok(resumed.revision > paused.revision);
    assert.equal(await within(spine, async (tx) => tx.routing.revision()), resumed.revision);
  });

  each(
    'a pause with an end gives way to a later end and to none, and never the other way round',
    async (spine) => {
      const { store } = spine;
      const by = async (untilAt: number | null, who: string): Promise<unknown> => {
        await within(spine, async (tx) =>
          tx.routing.pause({ kind: 'provider', name: 'p', at: 1, by: who, untilAt }),
        );
        const { pauses } = await store.read.routing.current();
        return pauses.map((pause) => [pause.by, pause.untilAt]);
      };
      assert.deepEqual(await by(20, 'a'), [['a', 20]]);
      const { revision } = await store.read.routing.current();
      assert.deepEqual(await by(10, 'b'), [['a', 20]]);
      assert.equal((await store.read.routing.current()).revision, revision, 'nothing has changed');
      assert.deepEqual(await by(30, 'c'), [['c', 30]]);
      assert.deepEqual(await by(null, 'd'), [['d', null]]);
      assert.deepEqual(await by(40, 'e'), [['d', null]]);
    },
  );

  each(
    'saves a type under one number, and leaves it alone when only a missing one is wanted',
    async (spine) => {
      const paramsSchema = '{"type":"object"}';
      const draft = {
        name: 'übersetzen',
        label: 'L',
        sop: 'do "it"',
        paramsSchema,
        maxRetries: 7,
        backoffMs: 2 ** 40,
        scoring: { tags: { 'ü "x"': 3 }, perHour: 0.5 },
        provider: 'anthropic',
      };
      const first = await within(spine, async (tx) => tx.types.save({ ...draft, onlyIfMissing: true }, 1));
      const same = await within(spine, async (tx) =>
        tx.types.save({ ...draft, label: 'other', onlyIfMissing: true }, 2),
      );
      assert.deepEqual(same, first);
      const changed = await within(spine, async (tx) =>
        tx.types.save({ ...draft, label: 'other', sop: null, maxRetries: 0, onlyIfMissing: false }, 3),
      );
      assert.deepEqual([first.maxRetries, first.backoffMs, first.declared], [7, 2 ** 40, false]);
      assert.deepEqual([first.scoring, first.provider], [draft.scoring, 'anthropic']);
      const said = { label: 'other', sop: null, maxRetries: 0, declared: true };
      assert.deepEqual(changed, { ...first, ...said, updatedAt: 3 });
      assert.deepEqual(await spine.store.read.types.all(), [changed]);
    },
  );

  each('remembers when a server was last alive, and never turns that back', async (spine) => {
    assert.equal(await within(spine, async (tx) => tx.servers.beat('server', 100)), null);
    assert.equal(await within(spine, async (tx) => tx.servers.beat('server', 200)), 100);
    assert.equal(await within(spine, async (tx) => tx.servers.beat('server', 150)), 200);
    assert.deepEqual(await spine.store.read.servers.beats(), new Map([['server', 200]]));
  });

  each('knows every server that beat lately, and forgets those of long ago', async (spine) => {
    await within(spine, async (tx) => {
      for (const [name, at] of [
        ['server', 100],
        ['a', 100],
        ['b', 300],
      ] as const)
        await tx.servers.beat(name, at);
    });
    assert.equal(await within(spine, async (tx) => tx.servers.forget(200)), 1);
    const left = new Map([
      ['server', 100],
      ['b', 300],
    ]);
    assert.deepEqual(await spine.store.read.servers.beats(), left);
  });

  each('keeps named facts and blobs', async (spine) => {
    await within(spine, async (tx) => tx.meta.set('a', '1'));
    await within(spine, async (tx) => tx.meta.set('a', 'zwei'));
    assert.deepEqual(
      [await spine.store.read.meta.get('a'), await spine.store.read.meta.get('b')],
      ['zwei', null],
    );
    const blob: Blob = {
      id: 'b',
      filename: 'ä "x".txt',
      size: 2 ** 40,
      sha256: 'f',
      contentType: 'text/plain',
      jobNo: null,
      createdAt: 5,
      createdBy: 'x',
    };
    await within(spine, async (tx) => tx.blobs.add(blob));
    assert.deepEqual(await spine.store.read.blobs.byId('b'), blob);
    assert.equal(await spine.store.read.blobs.byId('c'), null);
  });

  each(
    'keeps tokens by their hash, one living token of a name, and raises the revision with each change',
    async (spine) => {
      const { read } = spine.store;
      const token: Token = {
        id: 't1',
        name: 'ci',
        role: 'worker',
        targets: ['a', 'ü'],
        grants: ['constraint'],
        hash: 'h1',
        createdAt: 5,
        createdBy: 'head',
        revokedAt: null,
      };
      const start = await read.tokens.revision();
      await within(spine, async (tx) => tx.tokens.add(token));
      assert.deepEqual(await read.tokens.all(), [token]);
      await assert.rejects(
        within(spine, async (tx) => tx.tokens.add({ ...token, id: 't2', hash: 'h2' })),
        /unique/i,
      );
      const added = await read.tokens.revision();
      assert.ok(added > start);
      assert.equal(await within(spine, async (tx) => tx.tokens.revoke('nobody', 9, 'head')), false);
      assert.equal(await within(spine, async (tx) => tx.tokens.revoke('ci', 9, 'head')), true);
      assert.equal(await within(spine, async (tx) => tx.tokens.revoke('ci', 10, 'head')), false);
      assert.ok((await read.tokens.revision()) > added);
      await within(spine, async (tx) => tx.tokens.add({ ...token, id: 't3', hash: 'h3', targets: null }));
      assert.deepEqual(
        (await read.tokens.all())
          .filter(({ revokedAt }) => revokedAt === null)
          .map(({ id, targets }) => [id, targets]),
        [['t3', null]],
      );
    },
  );

  each(
    'records administrative acts newest first, and forgets old ones a bounded number at a time',
    async (spine) => {
      const act = (at: number): Audit => ({
        at,
        by: 'hëad',
        action: 'pool.save',
        subject: `p${at}`,
        facts: at % 2 === 0 ? { n: at } : null,
      });
      for (const at of [1, 2, 3, 4]) await within(spine, async (tx) => tx.audit.add(act(at)));
      const all = await spine.store.read.audit.before(null, 10);
      assert.deepEqual(
        all.map(({ at, by, action, subject, facts }) => ({ at, by, action, subject, facts })),
        [4, 3, 2, 1].map(act),
      );
      assert.deepEqual(
        (await spine.store.read.audit.before(all[1]?.no ?? 0, 1)).map(({ at }) => at),
        [2],
      );
      assert.equal(await within(spine, async (tx) => tx.audit.dropOld(4, 2)), 2);
      assert.equal(await within(spine, async (tx) => tx.audit.dropOld(4, 2)), 1);
      assert.deepEqual(
        (await spine.store.read.audit.before(null, 10)).map(({ at }) => at),
        [4],
      );
    },
  );

  each('knows whether a target has ready jobs', async (spine) => {
    await spine.store.transaction(0, async (tx) =>
      tx.jobs.insert([row({ target: 'a' }), row({ target: 'b', state: 'running' })]),
    );
    const ready = (target: string) => within(spine, async (tx) => tx.jobs.hasReady(target));
    assert.deepEqual([await ready('a'), await ready('b'), await ready('c')], [true, false, false]);
  });

  each('forgets old idempotency keys, a bounded number at a time', async (spine) => {
    const key = (name: string, at: number) => ({
      principal: 'p',
      key: name,
      bodyHash: 'h',
      jobIds: ['j'],
      at,
    });
    await within(spine, async (tx) =>
      tx.idempotency.remember([key('a', 1), key('b', 2), key('c', 3), key('d', 50)]),
    );
    assert.equal(await within(spine, async (tx) => tx.idempotency.dropOld(10, 2)), 2);
    assert.equal(await within(spine, async (tx) => tx.idempotency.dropOld(10, 2)), 1);
    assert.deepEqual(await within(spine, async (tx) => tx.idempotency.find({ principal: 'p', key: 'd' })), {
      bodyHash: 'h',
      jobIds: ['j'],
    });
    assert.equal(await within(spine, async (tx) => tx.idempotency.find({ principal: 'p', key: 'a' })), null);
  });

  each('forgets old notices, the oldest first', async (spine) => {
    const notice = (at: number) => ({ channel: 'webhook', kind: 'k', jobNo: null, body: '{}', at });
    await within(spine, async (tx) => tx.outbox.add([notice(1), notice(2), notice(50)]));
    for (const done of [1, 1, 0])
      assert.equal(await within(spine, async (tx) => tx.outbox.dropOld(10, 1)), done, 'notices');
    assert.equal(await outboxSize(spine.store), 1);
  });

  each('adds up the counters of all lanes and hides what came to nothing', async (spine) => {
    await within(spine, async (tx) =>
      tx.counters.add('1', [
        { target: 'a', state: 'queued', by: 5 },
        { target: 'b', state: 'done', by: 1 },
      ]),
    );
    await within(spine, async (tx) =>
      tx.counters.add('2', [
        { target: 'a', state: 'queued', by: -3 },
        { target: 'b', state: 'done', by: -1 },
      ]),
    );
    assert.deepEqual(await spine.store.read.counters.all(), [{ target: 'a', state: 'queued', n: 2 }]);
  });

  each('drops commits that have no events left, but never the newest', async (spine) => {
    const { store } = spine;
    const event = (seq: number) => ({
      jobNo: 1,
      seq,
      at: seq,
      kind: 'job.comment' as const,
      by: 'x',
      facts: null,
    });
    for (const seq of [1, 2, 3]) await within(spine, async (tx) => tx.feed.add([event(seq)], seq));
    await within(spine, async (tx) => tx.jobs.remove([1]));
    assert.equal(await within(spine, async (tx) => tx.feed.dropEmpty(3, 10)), 2);
    assert.equal(await within(spine, async (tx) => tx.feed.dropEmpty(99, 10)), 0);
    await within(spine, async (tx) => tx.feed.add([event(4)], 4));
    await within(spine, async (tx) => tx.feed.number(9));
    assert.deepEqual(
      (await store.read.feed.entries({ pos: 0, ordinal: -1 }, 9)).map(({ seq }) => seq),
      [3, 4],
    );
  });

  each('drops commits whatever their events say', async (spine) => {
    const facts = { error: 'nul \0, half \ud800, "\\u0000"', progress: { '\0': null } };
    const event = { jobNo: 7, seq: 1, at: 1, kind: 'job.failed' as const, by: 'nul \0', facts };
    for (const at of [1, 2]) await within(spine, async (tx) => tx.feed.add([event], at));
    assert.equal(await within(spine, async (tx) => tx.feed.dropEmpty(3, 10)), 1);
  });

  each('takes schedules in with the numbers they had, and goes on behind them', async (spine) => {
    const made = await plan(spine, { name: 'ü', schedule: '0 3 * * *' });
    const { read } = spine.store;
    const moved = { ...made, no: 41, id: 'moved', enabled: false, consecutiveErrors: 3 };
    await within(spine, async (tx) => {
      await tx.schedules.remove([made.id]);
      await tx.schedules.insertRaw([moved]);
      await tx.schedules.insertRaw([]);
    });
    assert.deepEqual(await read.schedules.list({ afterNo: 0, limit: 10 }), [moved]);
    const next = await plan(spine);
    assert.equal(next.no, 42);
    const stamps = async () => read.schedules.stamps({ afterNo: 41, limit: 10 });
    const [before] = await stamps();
    assert.deepEqual([before?.no, before?.id, before?.updatedAt], [42, next.id, next.updatedAt]);
    await runNow(spine, next);
    await doNext(spine);
    assert.notEqual((await stamps())[0]?.stamp, before?.stamp);
  });

  each('tells for many jobs at once what they have beside their rows', async (spine) => {
    const parent = await plan(spine);
    const child = await plan(spine, { parent_id: parent.id, approval_required: true });
    const run = await runNow(spine, parent);
    await doNext(spine);
    const { read } = spine.store;
    const [started] = await runsOf(spine, child);
    const nos = [run.no, started?.job.no ?? 0, 999];
    assert.deepEqual(
      (await read.runs.byNo(nos)).map(({ jobNo, kind, triggeredBy }) => [jobNo, kind, triggeredBy]),
      [
        [nos[0], 'manual', null],
        [nos[1], 'chain', run.no],
      ],
    );
    assert.deepEqual(
      (await read.approvals.byNo(nos)).map(({ jobNo, status }) => [jobNo, status]),
      [[nos[1], 'pending']],
    );
    assert.deepEqual(await read.runs.chainStarters(nos), [run.no]);
    assert.deepEqual(await read.runs.ended(10), [run.no]);
    const history = await read.runs.history(parent.id, 10);
    assert.deepEqual(
      history.map(({ kind, state, settled, createdAt }) => [kind, state, settled, createdAt]),
      [['manual', 'done', SETTLED, run.createdAt]],
    );
  });
}

function within<T>({ store }: Opened, work: (tx: Tx) => T | Promise<T>): Promise<T> {
  return store.transaction(0, async (tx) => work(tx));
}

function notice(kind: string, at: number) {
  return { channel: 'c', kind, jobNo: null, body: '{"ü":1}', at };
}
