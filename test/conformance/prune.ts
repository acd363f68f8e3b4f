import assert from 'node:assert/strict';
import { FINAL_STATES, type Job, STATES } from '../../src/domain/job.ts';
import type { Message, Receipt } from '../../src/domain/message.ts';
import { type Each, HEAD, type Opened } from '../support/engines.ts';
import { seeded } from './events.ts';
import { insert, row, tell } from './rows.ts';

const OLD = 1_000;
const LIMIT = 5_000;
const ENDED = { state: 'done', finishedAt: OLD, createdAt: OLD, settled: 2 } as const;

const DAY = 86_400_000;
const mailAt = (id: string, change: Partial<Message> = {}): Omit<Message, 'no'> => ({
  id,
  sender: 'a',
  recipient: 'b',
  kind: 'text',
  subject: null,
  body: id,
  priority: 0,
  rank: 17,
  owner: null,
  replyTo: null,
  threadNo: null,
  scheduleId: null,
  jobNo: null,
  status: 'pending',
  error: null,
  createdAt: 0,
  deliveredAt: null,
  expiresAt: null,
  ...change,
});

/** What one message is by then, and after how many days it goes; null is never. */
const MAIL: readonly (readonly [string, Partial<Message>, Partial<Receipt> | null, number | null])[] = [
  ['waiting', {}, { open: true }, null],
  ['waiting for nobody', { recipient: 'made up' }, { agent: 'made up', open: true }, 30],
  ['delivered', {}, { deliveredAt: 1 }, 3],
  ['read', {}, { deliveredAt: 1, readAt: 1 }, 30],
  ['expired', { expiresAt: 5 }, {}, 30],
  ['not yet expired', { expiresAt: 100 * DAY }, { open: true }, null],
  ['report', { kind: 'result' }, { deliveredAt: 1 }, 3],
  ['unheard report', { kind: 'result' }, { open: true }, null],
  ['report that ran out', { kind: 'result', expiresAt: 5 }, { open: true }, 3],
  ['report for nobody', { kind: 'result', recipient: 'made up' }, { agent: 'made up', open: true }, 3],
  ['system', { kind: 'system' }, { deliveredAt: 1, readAt: 1 }, 3],
  ['spawn to do', { kind: 'spawn' }, null, null],
  ['spawned', { kind: 'spawn', status: 'delivered' }, null, 30],
  ['failed', { kind: 'spawn', status: 'failed' }, null, 30],
  ['broadcast to nobody', { recipient: 'broadcast' }, null, 30],
];

export function pruneTopics(each: Each): void {
  each('messages go when their time is up, and what nobody has dealt with stays [SC-16]', async (spine) => {
    const { store } = spine;
    const base = { messageNo: 0, agent: 'b', rank: 17, expiresAt: null, open: false, jobNo: null, fence: 0 };
    await spine.engine.agents.register(HEAD, { id: 'b' });
    await store.transaction(0, async (tx) => {
      for (const [id, change, receipt] of MAIL) {
        const messageNo = await tx.messages.insert(mailAt(id, change));
        if (receipt === null) continue;
        const { expiresAt = null } = change;
        await tx.receipts.add([
          { ...base, deliveredAt: null, readAt: null, expiresAt, ...receipt, messageNo },
        ]);
      }
    });
    for (const day of [2, 4, 31, 90]) {
      const now = day * DAY;
      const keeping = { brief: now - 3 * DAY, before: now - 30 * DAY, now };
      while ((await store.transaction(0, async (tx) => tx.messages.dropOld(keeping, 2))) > 0);
      const kept = (await store.read.messages.list({ limit: 100 }, now)).messages.map(({ id }) => id);
      const expected = MAIL.filter(([, , , days]) => days === null || days > day).map(([id]) => id);
      assert.deepEqual(kept.toSorted(), expected.toSorted(), `day ${day}`);
      const receipts = await store.read.receipts.of(Array.from({ length: 30 }, (_, i) => i + 1));
      assert.equal(
        receipts.size,
        MAIL.filter(([id, , receipt]) => receipt !== null && kept.includes(id)).length,
      );
    }
  });

  each('finds old finished jobs and nothing that is unfinished, young or unsettled', async (spine) => {
    const jobs = await insert(spine.store, [
      row(ENDED),
      row({ ...ENDED, finishedAt: LIMIT + 1 }),
      row({ ...ENDED, settled: 1 }),
      row({ createdAt: OLD }),
      row({ state: 'running', createdAt: OLD }),
      row(ENDED),
      row({ createdAt: OLD }),
    ]);
    assert.deepEqual(await prunable(spine), [jobs[0]?.no, jobs[5]?.no]);
  });

  each('never finds a job that something kept refers to', async (spine) => {
    const { store } = spine;
    const [root, parent, awaited] = (await insert(store, [row(ENDED), row(ENDED), row(ENDED)])) as [
      Job,
      Job,
      Job,
    ];
    await insert(store, [row({ parentNo: parent.no }), row({ retryOf: root.no, rootNo: root.no })]);
    const [dependent] = (await insert(store, [row()])) as [Job];
    await store.transaction(0, async (tx) =>
      tx.dependencies.add([{ jobNo: dependent.no, parentNo: awaited.no, on: 'success', met: true }]),
    );
    assert.deepEqual(await prunable(spine), []);
  });

  each('prunes at random without ever touching what is unfinished or referred to', async (spine) => {
    const { store } = spine;
    const random = seeded(3);
    const made: Job[] = [];
    for (let i = 0; i < 60; i++) {
      const state = STATES[Math.floor(random() * STATES.length)] ?? 'queued';
      const final = (FINAL_STATES as readonly string[]).includes(state);
      const end = final
        ? {
            finishedAt: random() < 0.7 ? OLD : LIMIT + 1,
            settled: random() < 0.9 ? (2 as const) : (1 as const),
          }
        : {};
      const parentNo = random() < 0.3 ? (made[Math.floor(random() * made.length)]?.no ?? null) : null;
      const [job] = (await insert(store, [row({ state, ...end, parentNo })])) as [Job];
      made.push(job);
    }
    for (let round = 0; round < 5; round++) {
      for (const state of FINAL_STATES) {
        const { jobs } = await store.read.jobs.prunable(state, LIMIT, 0, 100);
        await store.transaction(0, async (tx) => tx.jobs.remove(jobs.map((job) => job.no)));
      }
    }
    const left = new Set((await store.read.jobs.byNo(made.map((job) => job.no))).map((job) => job.no));
    const gone = made.filter((job) => !left.has(job.no));
    assert.ok(gone.length > 3 && left.size > 10, `${gone.length} pruned, ${left.size} left`);
    for (const job of gone) assert.deepEqual([job.finishedAt, job.settled], [OLD, 2]);
    for (const job of made)
      if (left.has(job.no) && job.parentNo !== null)
        assert.ok(left.has(job.parentNo), 'a kept job lost its parent');
  });

  each('walks through the finished jobs window by window', async ({ store }) => {
    const jobs = await insert(store, [...Array.from({ length: 5 }, () => row(ENDED)), row()]);
    const first = await store.read.jobs.prunable('done', LIMIT, 0, 2);
    assert.deepEqual(
      first.jobs.map((job) => job.no),
      [jobs[0]?.no, jobs[1]?.no],
    );
    const second = await store.read.jobs.prunable('done', LIMIT, first.nextNo ?? 0, 2);
    const third = await store.read.jobs.prunable('done', LIMIT, second.nextNo ?? 0, 2);
    assert.deepEqual(
      [...second.jobs, ...third.jobs].map((job) => job.no),
      [2, 3, 4].map((i) => jobs[i]?.no),
    );
    assert.equal(third.nextNo, null);
  });

  each('removes a job with everything that hangs on it, and nothing else', async ({ store, engine }) => {
    const rows = [
      row({ ...ENDED, comments: 1 }, { title: 'gone', tags: ['t'] }),
      row({ ...ENDED, comments: 1 }, { title: 'kept', tags: ['t'] }),
    ];
    const [gone, kept] = (await insert(store, rows)) as [Job, Job];
    await store.transaction(0, async (tx) => {
      for (const job of [gone, kept]) {
        const jobNo = job.no;
        await tx.jobs.saveOutcomes([{ jobNo, result: '1', error: null }]);
        await tx.comments.add([{ jobNo, seq: 1, at: 1, by: 'x', text: 'x' }]);
        await tx.logs.add([{ jobNo, attempt: 1, line: { at: 1, level: 'info', text: 'x' } }]);
        await tell(tx, job, [{ jobNo, seq: 1, at: 1, kind: 'job.created', by: 'x', facts: null }], 1);
        await tx.dependencies.add([{ jobNo, parentNo: 999_999, on: 'success', met: true }]);
        await tx.blobs.add({
          id: `blob${jobNo}`,
          filename: 'f',
          size: 1,
          sha256: 's',
          contentType: 't',
          jobNo,
          createdAt: 1,
          createdBy: 'x',
        });
      }
    });
    const rest = async (job: Job) => ({
      row: (await store.read.jobs.byNo([job.no])).at(0) ?? null,
      title: (await engine.jobs.details([job])).get(job.no)?.input.title,
      comments: (await store.read.comments.after(job.no, 0, 9)).length,
      logs: (await store.read.logs.after(job.no, 0, 9)).length,
      events: (await store.read.feed.ofJob(job.no, 0, 9)).length,
      blobs: (await store.read.blobs.ofJob(job.no, null, 9)).length,
    });
    const before = await rest(kept);
    await store.transaction(0, async (tx) => tx.jobs.remove([gone.no]));
    assert.deepEqual(await rest(gone), { row: null, title: null, comments: 0, logs: 0, events: 0, blobs: 0 });
    assert.deepEqual(await rest(kept), before);
    assert.equal(
      (
        await store.read.jobs.list({
          states: ['done'],
          targets: null,
          typeNo: null,
          tag: 't',
          retries: false,
          order: 'oldest',
          from: null,
          limit: 9,
        })
      ).length,
      1,
    );
  });
}

async function prunable({ store }: Opened): Promise<number[]> {
  const found: number[] = [];
  for (const state of STATES)
    found.push(...(await store.read.jobs.prunable(state, LIMIT, 0, 100)).jobs.map((job) => job.no));
  return found.toSorted((a, b) => a - b);
}
