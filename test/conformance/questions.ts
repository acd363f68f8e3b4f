import assert from 'node:assert/strict';
import type { Job } from '../../src/domain/job.ts';
import type { Question } from '../../src/domain/question.ts';
import type { Each } from '../support/engines.ts';
import { insert, row } from './rows.ts';

function asked(job: Pick<Job, 'no'>, id: string, change: Partial<Question> = {}): Omit<Question, 'no'> {
  return {
    id,
    jobNo: job.no,
    rootNo: job.no,
    text: 'Wäre “das” gut? 👩‍🚀',
    to: '@ops',
    choices: ['ja', 'nein'],
    schema: '{"type":"string"}',
    fallback: 'null',
    askedBy: 'w',
    askedAt: 1,
    expiresAt: Number.MAX_SAFE_INTEGER,
    leaseToken: 'token',
    status: 'open',
    answer: null,
    answeredBy: null,
    answeredAt: null,
    ...change,
  };
}

const ANSWERED = { status: 'answered', answer: '"ja"', answeredBy: 'head', answeredAt: 5 } as const;

/** Questions and checkpoints in the store. */
export function questionTopics(each: Each): void {
  each('a question is found as it was asked, and ends once', async ({ store }) => {
    const [job] = (await insert(store, [row({ target: 'a' })])) as [Job];
    await store.transaction(0, async (tx) => tx.questions.insert([asked(job, 'q1')]));
    const found = await store.read.questions.byId('q1');
    const { no, jobId, target, title, ...rest } = found ?? assert.fail('it is not there');
    assert.deepEqual(rest, asked(job, 'q1'));
    assert.deepEqual([jobId, target, title, no > 0], [job.id, 'a', null, true]);
    await store.transaction(0, async (tx) => {
      assert.equal((await tx.questions.lock('q1'))?.status, 'open');
      await tx.questions.end('q1', ANSWERED, 1);
      await tx.questions.end('q1', { ...ANSWERED, answer: '"nein"' }, 2);
    });
    assert.equal((await store.read.questions.byId('q1'))?.answer, '"ja"');
    assert.equal((await store.read.questions.ofLease(job.no, 'token'))?.id, 'q1');
    assert.equal(await store.read.questions.ofLease(job.no, 'other'), null);
  });

  each('open questions are counted, listed and due; answers are told newest first', async ({ store }) => {
    const [one, two] = (await insert(store, [row({ target: 'a' }), row({ target: 'b' })])) as [Job, Job];
    await store.transaction(0, async (tx) =>
      tx.questions.insert([
        asked(one, 'q1', ANSWERED),
        asked(one, 'q2', { ...ANSWERED, text: 'second' }),
        asked(one, 'q3', { expiresAt: 10 }),
        asked(two, 'q4', { rootNo: one.no, to: 'ada', askedBy: 'v', expiresAt: 5 }),
      ]),
    );
    const { questions } = store.read;
    const ids = async (filter: object) =>
      (await questions.list({ targets: null, reader: 'ada', limit: 10, ...filter })).map(({ id }) => id);
    assert.deepEqual(await ids({}), ['q4', 'q3', 'q2', 'q1']);
    assert.deepEqual(await ids({ open: true }), ['q4', 'q3']);
    assert.deepEqual(await ids({ open: false, limit: 1 }), ['q2']);
    assert.deepEqual(await ids({ targets: ['a'], open: true }), ['q4', 'q3']);
    assert.deepEqual(await ids({ targets: ['a'], reader: 'bob', open: true }), ['q3']);
    assert.deepEqual(await ids({ targets: [], reader: 'bob' }), []);
    assert.deepEqual(await ids({ to: 'ada' }), ['q4']);
    assert.deepEqual(await ids({ jobNo: one.no, before: 2 }), ['q1']);
    const open = (name: string) => questions.countOpenOf({ name, scheduleId: null }, 10);
    assert.deepEqual([await open('w'), await open('nobody')], [1, 0]);
    const to = (recipient: string) =>
      questions.countOpenOf({ name: 'v', scheduleId: null, to: recipient }, 10);
    assert.deepEqual([await to('ada'), await to('bob')], [1, 0]);
    assert.equal(await questions.countOpenOf({ name: 'w', scheduleId: 'none' }, 10), 0);
    assert.deepEqual(await questions.expired(4, 10), []);
    assert.deepEqual(await questions.expired(10, 10), ['q4', 'q3']);
    assert.equal(await store.read.jobs.nextDueAt(), 5);
    assert.deepEqual(
      (await questions.answersOf(one.no, 10)).map(({ text }) => text),
      ['second', 'Wäre “das” gut? 👩‍🚀'],
    );
    assert.equal((await questions.answersOf(one.no, 1)).length, 1);
  });

  each('the last checkpoint counts, is copied and removed, and goes with its job', async ({ store }) => {
    const [one, two] = (await insert(store, [row(), row()])) as [Job, Job];
    const kept = () => store.read.checkpoints.byNo([one.no, two.no]);
    await store.transaction(0, async (tx) => {
      await tx.checkpoints.save([{ jobNo: one.no, value: '"half"' }]);
      await tx.checkpoints.save([{ jobNo: one.no, value: '{"ö":1}' }]);
      await tx.checkpoints.copy(one.no, two.no);
      await tx.questions.insert([asked(one, 'q1')]);
    });
    assert.deepEqual(
      await kept(),
      new Map([
        [one.no, '{"ö":1}'],
        [two.no, '{"ö":1}'],
      ]),
    );
    await store.transaction(0, async (tx) => {
      await tx.checkpoints.remove(two.no);
      await tx.jobs.remove([one.no]);
    });
    assert.equal((await kept()).size, 0);
    assert.equal(await store.read.questions.byId('q1'), null);
  });
}
