import assert from 'node:assert/strict';
import { SETTLED } from '../../src/domain/job.ts';
import type { Audit, Blob, StoredToken, Tx } from '../../src/store/store.ts';
import type { Each, Opened } from '../support/engines.ts';
import { doNext, plan, runNow, runsOf } from '../support/scheduling.ts';
import { row } from './rows.ts';

/** The compiler asks for a line here for every verb that a transaction has. */
const VERBS: Record<keyof Tx, true> = {
  defer: true,
  lockJobs: true,
  lockJobsByNo: true,
  readyJobs: true,
  readyJobsOfType: true,
  hasReady: true,
  claimedUnder: true,
  insertJobs: true,
  updateJobs: true,
  saveOutcomes: true,
  addComments: true,
  addLogs: true,
  findUnique: true,
  countChildren: true,
  openDescendants: true,
  addToFeed: true,
  appendEvents: true,
  addCounts: true,
  addOutbox: true,
  notify: true,
  findIdempotent: true,
  rememberIdempotent: true,
  addDependencies: true,
  dependentsOf: true,
  settleDependencies: true,
  lastOfLineage: true,
  inputOf: true,
  freeLanes: true,
  keepMeta: true,
  freeSlots: true,
  ensureKeySlots: true,
  takeSlots: true,
  releaseSlots: true,
  bestWaiters: true,
  savePool: true,
  ensurePool: true,
  deletePool: true,
  setPaused: true,
  routingRevision: true,
  saveType: true,
  beat: true,
  forgetServers: true,
  setMeta: true,
  addToken: true,
  revokeToken: true,
  addAudit: true,
  dropOldAudit: true,
  claimOutbox: true,
  deleteOutbox: true,
  postponeOutbox: true,
  deleteJobs: true,
  dropOldIdempotency: true,
  dropEmptyFlushes: true,
  dropFreeKeySlots: true,
  saveBlob: true,
  numberFlushes: true,
  insertJobsRaw: true,
  insertFeedRaw: true,
  insertEventsRaw: true,
  insertTypeRaw: true,
  insertSchedule: true,
  insertSchedulesRaw: true,
  lockSchedules: true,
  dueSchedules: true,
  saveSchedules: true,
  deleteSchedules: true,
  lockChains: true,
  countSchedules: true,
  edgesAround: true,
  spawnedAround: true,
  countSpawns: true,
  treeAbove: true,
  countDescendants: true,
  relativesOf: true,
  subtreeOf: true,
  takeTick: true,
  nameTick: true,
  addMissed: true,
  dropOldTicks: true,
  missedBeyond: true,
  dropTick: true,
  dropOldMessages: true,
  dropOldOutbox: true,
  insertRuns: true,
  runOf: true,
  setActivity: true,
  hasTriggered: true,
  noteRun: true,
  overlap: true,
  firstWaiting: true,
  anyOpenRun: true,
  openRuns: true,
  outcomeOf: true,
  lineageSize: true,
  insertApproval: true,
  requestApproval: true,
  lockApproval: true,
  resolveApproval: true,
  pendingApprovals: true,
  insertMessage: true,
  pendingSpawns: true,
  endMessage: true,
};

export function upkeepTopics(each: Each): void {
  each('has every verb that a transaction promises', async ({ store }) => {
    await store.transaction(0, async (tx) => {
      const missing = Object.keys(VERBS).filter((verb) => typeof tx[verb as keyof Tx] !== 'function');
      assert.deepEqual(missing, []);
    });
  });

  each('hands out due notices for a while, and again when nobody said that they went out', async (spine) => {
    await within(spine, async (tx) => {
      await tx.addOutbox([notice('first', 10), notice('second', 20), notice('later', 99)]);
    });
    const first = await within(spine, async (tx) => tx.claimOutbox(50, 10, 1_000));
    assert.deepEqual(
      first.map((row) => [row.kind, row.attempts, row.body]),
      [
        ['first', 1, '{"ü":1}'],
        ['second', 1, '{"ü":1}'],
      ],
    );
    assert.deepEqual(await within(spine, async (tx) => tx.claimOutbox(51, 10, 1_000)), []);
    const [one, two] = await within(spine, async (tx) => tx.claimOutbox(1_050, 2, 1_000));
    assert.deepEqual([one?.kind, two?.kind, two?.attempts], ['later', 'first', 2]);
    await within(spine, async (tx) => tx.deleteOutbox(two?.no ?? 0));
    await within(spine, async (tx) => tx.postponeOutbox(one?.no ?? 0, 9_999, 'down'));
    assert.equal(await spine.store.read.outboxSize(), 2);
    assert.deepEqual(
      (await within(spine, async (tx) => tx.claimOutbox(9_998, 10, 1))).map((row) => row.kind),
      ['second'],
    );
  });

  each('pauses and resumes, and raises the revision each time', async (spine) => {
    const { store } = spine;
    const type = await within(spine, async (tx) =>
      tx.saveType({ name: 't', label: 'T', sop: null, paramsSchema: null, onlyIfMissing: false }, 1),
    );
    const start = (await store.read.routing()).revision;
    await within(spine, async (tx) => tx.setPaused('target', 'a', true, 5, 'ann'));
    await within(spine, async (tx) => tx.setPaused('type', 't', true, 6, 'bob'));
    await within(spine, async (tx) => tx.setPaused('target', 'a', true, 7, 'late'));
    const paused = await store.read.routing();
    assert.deepEqual([[...paused.pausedTargets], [...paused.pausedTypes]], [['a'], [type.no]]);
    assert.deepEqual(paused.pauses.map((pause) => pause.by).toSorted(), ['ann', 'bob']);
    assert.ok(paused.revision >= start + 2);
    await within(spine, async (tx) => tx.setPaused('target', 'a', false, 8, 'ann'));
    const resumed = await store.read.routing();
    assert.deepEqual([...resumed.pausedTargets], []);
    assert.ok(resumed.revision > paused.revision);
    assert.equal(await within(spine, async (tx) => tx.routingRevision()), resumed.revision);
  });

  each(
    'saves a type under one number, and leaves it alone when only a missing one is wanted',
    async (spine) => {
      const draft = { name: 'übersetzen', label: 'L', sop: 'do "it"', paramsSchema: '{"type":"object"}' };
      const first = await within(spine, async (tx) => tx.saveType({ ...draft, onlyIfMissing: true }, 1));
      const same = await within(spine, async (tx) =>
        tx.saveType({ ...draft, label: 'other', onlyIfMissing: true }, 2),
      );
      assert.deepEqual(same, first);
      const changed = await within(spine, async (tx) =>
        tx.saveType({ ...draft, label: 'other', sop: null, onlyIfMissing: false }, 3),
      );
      assert.deepEqual(changed, { ...first, label: 'other', sop: null, updatedAt: 3 });
      assert.deepEqual(await spine.store.read.types(), [changed]);
    },
  );

  each('remembers when a server was last alive, and never turns that back', async (spine) => {
    assert.equal(await within(spine, async (tx) => tx.beat('server', 100)), null);
    assert.equal(await within(spine, async (tx) => tx.beat('server', 200)), 100);
    assert.equal(await within(spine, async (tx) => tx.beat('server', 150)), 200);
    assert.equal(await spine.store.read.aliveAt('server'), 200);
    assert.equal(await spine.store.read.aliveAt('nobody'), null);
  });

  each('knows every server that beat lately, and forgets those of long ago', async (spine) => {
    await within(spine, async (tx) => {
      for (const [name, at] of [
        ['server', 100],
        ['a', 100],
        ['b', 300],
      ] as const)
        await tx.beat(name, at);
    });
    assert.equal(await within(spine, async (tx) => tx.forgetServers(200)), 1);
    const left = (await spine.store.read.servers()).toSorted((a, b) => a.beatAt - b.beatAt);
    assert.deepEqual(left, [
      { name: 'server', beatAt: 100 },
      { name: 'b', beatAt: 300 },
    ]);
  });

  each('keeps named facts and blobs', async (spine) => {
    await within(spine, async (tx) => tx.setMeta('a', '1'));
    await within(spine, async (tx) => tx.setMeta('a', 'zwei'));
    assert.deepEqual([await spine.store.read.meta('a'), await spine.store.read.meta('b')], ['zwei', null]);
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
    await within(spine, async (tx) => tx.saveBlob(blob));
    assert.deepEqual(await spine.store.read.blob('b'), blob);
    assert.equal(await spine.store.read.blob('c'), null);
  });

  each(
    'keeps tokens by their hash, one living token of a name, and raises the revision with each change',
    async (spine) => {
      const { read } = spine.store;
      const token: StoredToken = {
        id: 't1',
        name: 'ci',
        role: 'worker',
        targets: ['a', 'ü'],
        hash: 'h1',
        createdAt: 5,
        createdBy: 'head',
        revokedAt: null,
      };
      const start = await read.tokenRevision();
      await within(spine, async (tx) => tx.addToken(token));
      assert.deepEqual(await read.tokens(), [token]);
      await assert.rejects(
        within(spine, async (tx) => tx.addToken({ ...token, id: 't2', hash: 'h2' })),
        /unique/i,
      );
      const added = await read.tokenRevision();
      assert.ok(added > start);
      assert.equal(await within(spine, async (tx) => tx.revokeToken('nobody', 9, 'head')), false);
      assert.equal(await within(spine, async (tx) => tx.revokeToken('ci', 9, 'head')), true);
      assert.equal(await within(spine, async (tx) => tx.revokeToken('ci', 10, 'head')), false);
      assert.ok((await read.tokenRevision()) > added);
      await within(spine, async (tx) => tx.addToken({ ...token, id: 't3', hash: 'h3', targets: null }));
      assert.deepEqual(
        (await read.tokens())
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
      for (const at of [1, 2, 3, 4]) await within(spine, async (tx) => tx.addAudit(act(at)));
      const all = await spine.store.read.audit(null, 10);
      assert.deepEqual(
        all.map(({ at, by, action, subject, facts }) => ({ at, by, action, subject, facts })),
        [4, 3, 2, 1].map(act),
      );
      assert.deepEqual(
        (await spine.store.read.audit(all[1]?.no ?? 0, 1)).map(({ at }) => at),
        [2],
      );
      assert.equal(await within(spine, async (tx) => tx.dropOldAudit(4, 2)), 2);
      assert.equal(await within(spine, async (tx) => tx.dropOldAudit(4, 2)), 1);
      assert.deepEqual(
        (await spine.store.read.audit(null, 10)).map(({ at }) => at),
        [4],
      );
    },
  );

  each('knows whether a target has ready jobs', async (spine) => {
    await spine.store.transaction(0, async (tx) =>
      tx.insertJobs([row({ target: 'a' }), row({ target: 'b', state: 'running' })]),
    );
    const ready = (target: string) => within(spine, async (tx) => tx.hasReady(target));
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
      tx.rememberIdempotent([key('a', 1), key('b', 2), key('c', 3), key('d', 50)]),
    );
    assert.equal(await within(spine, async (tx) => tx.dropOldIdempotency(10, 2)), 2);
    assert.equal(await within(spine, async (tx) => tx.dropOldIdempotency(10, 2)), 1);
    assert.deepEqual(await within(spine, async (tx) => tx.findIdempotent({ principal: 'p', key: 'd' })), {
      bodyHash: 'h',
      jobIds: ['j'],
    });
    assert.equal(await within(spine, async (tx) => tx.findIdempotent({ principal: 'p', key: 'a' })), null);
  });

  each('forgets old notices and messages that are dealt with, the oldest first', async (spine) => {
    const notice = (at: number) => ({ channel: 'webhook', kind: 'k', jobNo: null, body: '{}', at });
    const mail = (id: string, createdAt: number, status: 'pending' | 'read') => ({
      id,
      sender: 'a',
      recipient: 'b',
      kind: 'text',
      subject: null,
      body: 'x',
      priority: 0,
      owner: null,
      replyTo: null,
      scheduleId: null,
      jobNo: null,
      status,
      error: null,
      createdAt,
      deliveredAt: null,
      readAt: null,
      expiresAt: null,
    });
    await within(spine, async (tx) => {
      await tx.addOutbox([notice(1), notice(2), notice(50)]);
      await tx.insertMessage(mail('unread', 1, 'pending'));
      for (const at of [2, 3, 50]) await tx.insertMessage(mail(`read ${at}`, at, 'read'));
    });
    const passes = [1, 1, 0];
    for (const done of passes)
      assert.equal(await within(spine, async (tx) => tx.dropOldOutbox(10, 1)), done, 'notices');
    for (const done of passes)
      assert.equal(await within(spine, async (tx) => tx.dropOldMessages(10, 1)), done, 'messages');
    assert.equal(await spine.store.read.outboxSize(), 1);
    const left = await spine.store.read.messages({ limit: 9 });
    assert.deepEqual(
      left.map(({ id }) => id),
      ['read 50', 'unread'],
    );
  });

  each('adds up the counters of all lanes and hides what came to nothing', async (spine) => {
    await within(spine, async (tx) =>
      tx.addCounts('1', [
        { target: 'a', state: 'queued', by: 5 },
        { target: 'b', state: 'done', by: 1 },
      ]),
    );
    await within(spine, async (tx) =>
      tx.addCounts('2', [
        { target: 'a', state: 'queued', by: -3 },
        { target: 'b', state: 'done', by: -1 },
      ]),
    );
    assert.deepEqual(await spine.store.read.counts(), [{ target: 'a', state: 'queued', n: 2 }]);
  });

  each('drops flushes that have no events left, but never the newest', async (spine) => {
    const { store } = spine;
    const event = (seq: number) => ({
      jobNo: 1,
      seq,
      at: seq,
      kind: 'job.comment' as const,
      by: 'x',
      facts: null,
    });
    for (const seq of [1, 2, 3]) await within(spine, async (tx) => tx.appendEvents([event(seq)], seq));
    await within(spine, async (tx) => tx.deleteJobs([1]));
    assert.equal(await within(spine, async (tx) => tx.dropEmptyFlushes(3, 10)), 2);
    assert.equal(await within(spine, async (tx) => tx.dropEmptyFlushes(99, 10)), 0);
    await within(spine, async (tx) => tx.appendEvents([event(4)], 4));
    assert.equal((await store.read.eventsOf(1, 0, 9)).length, 1);
  });

  each('takes schedules in with the numbers they had, and goes on behind them', async (spine) => {
    const made = await plan(spine, { name: 'ü', schedule: '0 3 * * *' });
    const { read } = spine.store;
    const moved = { ...made, no: 41, id: 'moved', enabled: false, consecutiveErrors: 3 };
    await within(spine, async (tx) => {
      await tx.deleteSchedules([made.id]);
      await tx.insertSchedulesRaw([moved]);
      await tx.insertSchedulesRaw([]);
    });
    assert.deepEqual(await read.schedules({ afterNo: 0, limit: 10 }), [moved]);
    const next = await plan(spine);
    assert.equal(next.no, 42);
    const stamps = async () => read.scheduleStamps({ afterNo: 41, limit: 10 });
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
      (await read.runsByNo(nos)).map(({ jobNo, kind, triggeredBy }) => [jobNo, kind, triggeredBy]),
      [
        [nos[0], 'manual', null],
        [nos[1], 'chain', run.no],
      ],
    );
    assert.deepEqual(
      (await read.approvalsByNo(nos)).map(({ jobNo, status }) => [jobNo, status]),
      [[nos[1], 'pending']],
    );
    assert.deepEqual(await read.chainStarters(nos), [run.no]);
    assert.deepEqual(await read.endedRuns(10), [run.no]);
    const history = await read.runHistory(parent.id, 10);
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
