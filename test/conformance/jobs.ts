import assert from 'node:assert/strict';
import type { Job, JobInput } from '../../src/domain/job.ts';
import { FIXED, JOB_FIELDS } from '../../src/domain/job-fields.ts';
import { printRow } from '../../src/files/journal-print.ts';
import {
  reasonOf,
  claimNext,
  create,
  createMany,
  type Each,
  finished,
  HEAD,
  read,
  worker,
} from '../support/engines.ts';
import { EXTREME, insert, row } from './rows.ts';

const TEXTS = [
  '',
  ' ',
  'null',
  'NULL',
  '{}',
  '{"a"}',
  '"',
  '\\',
  "'",
  '$1',
  '%',
  'naïve – 日本語 – 👩‍🚀 – ‮rtl',
  'a\tb\nc\r\n',
];

export function jobTopics(each: Each): void {
  each('keeps every field of a row exactly, at the edge of what it may hold', async ({ store }) => {
    const extreme = row(EXTREME);
    const [plain, edge] = await insert(store, [row(), extreme]);
    assert.deepEqual(edge, { ...extreme.job, no: edge?.no });
    assert.notEqual(plain?.no, edge?.no);
    assert.deepEqual(await store.read.jobs.byId(extreme.job.id), edge);
  });

  each('reads of a ready job what stands in its row, plain or with any field set', async ({ store }) => {
    const target = 'any';
    const { state: _state, target: _target, ...others } = EXTREME;
    const made = [
      ...(await insert(store, [row(), row()])),
      ...(await insert(store, [
        row(),
        row({ ...EXTREME, state: 'queued', target, retryOf: 7 }),
        ...Object.entries(others).map(([field, value]) => row({ [field]: value })),
      ])),
    ];
    const best = made.toSorted((a, b) => b.priority - a.priority || a.no - b.no);
    const window = { limit: 100, carriedBytes: 1_000_000 };
    for (const requires of [null, EXTREME.requires]) {
      for (const typeNo of [null, 0, EXTREME.typeNo]) {
        const ready = await store.transaction(0, async (tx) =>
          tx.jobs.ready({ target, typeNo, requires }, window),
        );
        assert.deepEqual(
          ready.map(({ job }) => job),
          best.filter((job) => job.requires === requires && (typeNo === null || job.typeNo === typeNo)),
          `type ${typeNo}, requires ${requires}`,
        );
      }
    }
  });

  each('reads of a ready job what has changed in it since it was made', async ({ store }) => {
    const ready = async (): Promise<Job[]> =>
      store.transaction(0, async (tx) =>
        (
          await tx.jobs.ready(
            { target: 'any', typeNo: null, requires: null },
            { limit: 100, carriedBytes: 1_000 },
          )
        ).map(({ job }) => job),
      );
    const changing = JOB_FIELDS.filter(({ group }) => group === 'lease' || group === 'rare');
    const extreme: Job = { no: 0, ...row(EXTREME).job };
    for (const { name } of changing.filter(({ name }) => name !== 'state')) {
      const [before] = (await insert(store, [row()])) as [Job];
      const after: Job = { ...before, [name]: extreme[name] };
      await store.transaction(0, async (tx) => tx.jobs.update([{ before, after, kind: 'other' }]));
      assert.deepEqual(await ready(), [after], name);
      await store.transaction(0, async (tx) =>
        tx.jobs.update([{ before: after, after: { ...after, state: 'done' }, kind: 'other' }]),
      );
    }
    const [made] = (await insert(store, [row()])) as [Job];
    const held: Job = {
      ...made,
      state: 'running',
      attempts: 1,
      fence: 1,
      claimedBy: 'left-claw',
      startedAt: 5,
    };
    const back: Job = {
      ...held,
      state: 'queued',
      endedVerb: 'release',
      endedState: 'queued',
      reason: 'later',
    };
    await store.transaction(0, async (tx) => tx.jobs.update([{ before: made, after: held, kind: 'claim' }]));
    await store.transaction(0, async (tx) => tx.jobs.update([{ before: held, after: back, kind: 'end' }]));
    assert.deepEqual(await ready(), [back]);
  });

  each(
    'prints rows as the journal has them, except where a schedule, a comment or a checkpoint is to be told of',
    async ({ store }) => {
      const [plain, edge, said, run, kept] = (await insert(store, [
        row(),
        row({ ...EXTREME, scheduleId: null, comments: 0, checkpointAt: null }),
        row({ comments: 1 }),
        row({ scheduleId: 'nightly' }),
        row({ checkpointAt: 1 }),
      ])) as [Job, Job, Job, Job, Job];
      const nos = [run.no, edge.no, plain.no, said.no, kept.no, kept.no + 1];
      const printed = await store.read.jobs.printed(nos);
      assert.deepEqual(
        new Map(printed.map(({ no, seq, text }) => [no, { seq, row: JSON.parse(text) as unknown }])),
        new Map(
          [plain, edge].map((job) => [job.no, { seq: job.seq, row: JSON.parse(printRow(job)) as unknown }]),
        ),
      );
      assert.deepEqual(await store.read.jobs.printed([]), []);
    },
  );

  each('knows the outcomes of those who have one', async ({ store }) => {
    const [done, failed, open] = (await insert(store, [row(), row(), row()])) as [Job, Job, Job];
    const outcomes = [
      { jobNo: done.no, result: '"naïve"', error: null },
      { jobNo: failed.no, result: null, error: 'a\nb' },
    ];
    await store.transaction(0, async (tx) => tx.jobs.saveOutcomes(outcomes));
    assert.deepEqual(
      await store.read.details.outcomes([done.no, failed.no, open.no]),
      new Map(outcomes.map(({ jobNo, ...outcome }) => [jobNo, outcome])),
    );
    assert.deepEqual(await store.read.details.outcomes([]), new Map());
  });

  each('writes every field that may change, in both directions', async ({ store }) => {
    const [first, second] = (await insert(store, [row(), row(EXTREME)])) as [Job, Job];
    const change = async (before: Job, like: Job): Promise<Job> => {
      const after: Job = { ...like, ...fixedPart(before) };
      await store.transaction(0, async (tx) => tx.jobs.update([{ before, after, kind: 'other' }]));
      assert.deepEqual(await store.read.jobs.byNo([before.no]), [after]);
      return after;
    };
    const there = await change(first, second);
    await change(there, first);
  });

  each('changes the rows it was given and no others', async ({ store }) => {
    const [a, b] = (await insert(store, [row(), row()])) as [Job, Job];
    await store.transaction(0, async (tx) =>
      tx.jobs.update([{ before: a, after: { ...a, reason: 'x', priority: 9 }, kind: 'other' }]),
    );
    assert.deepEqual(await store.read.jobs.byNo([b.no]), [b]);
  });

  each('gives an input back as it came in, whatever characters it has', async ({ store, engine }) => {
    for (const text of TEXTS) {
      const input: JobInput = {
        title: text,
        description: text,
        spec: JSON.stringify({ text }),
        meta: JSON.stringify([text]),
        params: JSON.stringify({ [text]: text }),
        tags: text === '' ? [] : [text, `${text}2`],
        budget: JSON.stringify(text),
      };
      const [job] = (await insert(store, [row({}, input)])) as [Job];
      const details = (await engine.jobs.details([job])).get(job.no);
      assert.deepEqual(details?.input, input, JSON.stringify(text));
      await store.transaction(0, async (tx) => assert.deepEqual(await tx.jobs.inputOf(job.no), input));
    }
  });

  each('tells an empty text from none', async ({ store, engine }) => {
    const [job] = (await insert(store, [row({}, { title: '', description: null })])) as [Job];
    const input = (await engine.jobs.details([job])).get(job.no)?.input;
    assert.deepEqual([input?.title, input?.description], ['', null]);
  });

  each('hands a claimer the same 20 KB of params that were sent', async (spine) => {
    const params = {
      prompt: 'Zeile – 行 – 🚀\n'.repeat(1_000),
      n: Number.MAX_SAFE_INTEGER,
      deep: { a: [null, true, 1.5] },
    };
    assert.ok(Buffer.byteLength(JSON.stringify(params)) > 20_000);
    await create(spine, { params });
    const [found] = await claimNext(spine);
    assert.deepEqual(JSON.parse(found?.input?.params ?? 'null'), params);
  });

  each('keeps results and errors as they were given, null included', async (spine) => {
    const job = await create(spine);
    await finished(spine, job, { text: TEXTS, nothing: null });
    const other = await create(spine);
    await finished(spine, other, null);
    const details = await spine.engine.jobs.details([await read(spine, job), await read(spine, other)]);
    assert.deepEqual(JSON.parse(details.get(job.no)?.result ?? 'null'), { text: TEXTS, nothing: null });
    assert.deepEqual([details.get(other.no)?.result, details.get(other.no)?.error], [null, null]);
  });

  each('keeps comments and log lines in their order, each with its time and author', async (spine) => {
    const job = await create(spine);
    await Promise.all(TEXTS.map((text) => spine.engine.jobs.comment(HEAD, job.id, text)));
    const comments = await spine.store.read.comments.after(job.no, 0, TEXTS.length);
    assert.deepEqual(
      comments.map(({ by, text }) => [by, text]),
      TEXTS.map((text) => ['head', text]),
    );
    const { leaseToken } = (await spine.engine.leases.claim(worker('w'), job.id)).job;
    const lines = TEXTS.map((text, i) => ({ at: i, level: 'warn' as const, text }));
    await spine.engine.leases.log(worker('w'), job.id, leaseToken, lines);
    const logs = await spine.engine.jobs.logs(HEAD, job.id, 0, 100);
    assert.deepEqual(
      logs.map(({ at, level, text }) => ({ at, level, text })),
      lines,
    );
    assert.deepEqual(
      logs.map((log) => log.attempt),
      TEXTS.map(() => 1),
    );
    const later = await spine.engine.jobs.logs(HEAD, job.id, logs[3]?.no ?? 0, 2);
    assert.deepEqual(
      later.map(({ text }) => text),
      TEXTS.slice(4, 6),
    );
  });

  each('claims fifty jobs of one batch in the order in which they were sent [SP-19]', async (spine) => {
    const jobs = await createMany(spine, 50);
    assert.deepEqual(
      jobs.map((job) => job.no),
      jobs.map((job) => job.no).toSorted((a, b) => a - b),
    );
    const claimed = await claimNext(spine, { max: 50 });
    assert.deepEqual(
      claimed.map(({ job }) => job.id),
      jobs.map((job) => job.id),
    );
  });

  each('claims by priority, then by age, also across targets', async (spine) => {
    const made: [string, number][] = [
      ['a', 0],
      ['b', 5],
      ['a', 5],
      ['b', -1],
      ['a', 5],
      ['b', 0],
      ['a', 1_000_000],
    ];
    for (const [target, priority] of made)
      await create(spine, { target, priority, title: `${target}${priority}` });
    const claimed = await claimNext(spine, { targets: ['a', 'b'], max: 10 });
    const expected = made
      .map(([target, priority], i) => ({ target, priority, i }))
      .toSorted((x, y) => y.priority - x.priority || x.i - y.i);
    assert.deepEqual(
      claimed.map(({ input }) => input?.title),
      expected.map(({ target, priority }) => `${target}${priority}`),
    );
  });

  each('hands each of 200 jobs to exactly one of 40 claimers at once [SP-19]', async (spine) => {
    await createMany(spine, 200);
    const taken = await Promise.all(
      Array.from({ length: 40 }, (_, i) => claimNext(spine, { by: worker(`w${i}`), max: 7 })),
    );
    const ids = taken.flat().map(({ job }) => job.id);
    assert.equal(ids.length, 200);
    assert.equal(new Set(ids).size, 200);
    for (const [i, mine] of taken.entries())
      for (const { job } of mine) assert.equal((await read(spine, job)).claimedBy, `w${i}`);
  });

  each('lets one of twenty claimers of the same job win, and tells the others who', async (spine) => {
    const job = await create(spine);
    const ends = await Promise.allSettled(
      Array.from({ length: 20 }, (_, i) => spine.engine.leases.claim(worker(`w${i}`), job.id)),
    );
    assert.equal(ends.filter((end) => end.status === 'fulfilled').length, 1);
    const { claimedBy } = await read(spine, job);
    for (const end of ends) {
      if (end.status === 'rejected')
        assert.deepEqual(
          [reasonOf(end)?.code, reasonOf(end)?.details['claimedBy']],
          ['already_claimed', claimedBy],
        );
    }
  });
}

/** What a row keeps from its birth to its end. */
function fixedPart(job: Job): Partial<Job> {
  return Object.fromEntries([['no', job.no], ...FIXED.map(({ name }) => [name, job[name]])]) as Partial<Job>;
}
