import assert from 'node:assert/strict';
import type { Job } from '../../src/domain/job.ts';
import { type Run, RUN_ACTIVE } from '../../src/domain/run.ts';
import type { Each } from '../support/engines.ts';
import { insert, row } from './rows.ts';

export function dependencyTopics(each: Each): void {
  each('knows who waits for a job and for which end, until it is settled', async ({ store }) => {
    const [parent, other, a, b] = (await insert(store, [row(), row(), row(), row()])) as [Job, Job, Job, Job];
    await store.transaction(0, async (tx) => {
      await tx.dependencies.add([
        { jobNo: b.no, parentNo: parent.no, on: 'failure', met: false },
        { jobNo: a.no, parentNo: parent.no, on: 'success', met: false },
        { jobNo: a.no, parentNo: other.no, on: 'complete', met: true },
      ]);
      assert.deepEqual(await tx.dependencies.waiting(parent.no), [
        { jobNo: a.no, on: 'success' },
        { jobNo: b.no, on: 'failure' },
      ]);
      assert.deepEqual(await tx.dependencies.waiting(other.no), []);
      await tx.dependencies.settle(parent.no);
      assert.deepEqual(await tx.dependencies.waiting(parent.no), []);
    });
    const edges = (await store.read.dependencies.of([a.no])).toSorted((x, y) => x.parentNo - y.parentNo);
    assert.deepEqual(edges, [
      { jobNo: a.no, parentNo: parent.no, parentId: parent.id, on: 'success', met: true },
      { jobNo: a.no, parentNo: other.no, parentId: other.id, on: 'complete', met: true },
    ]);
  });

  each('finds the last member of a lineage', async ({ store }) => {
    const [root] = (await insert(store, [row()])) as [Job];
    const [first] = (await insert(store, [row({ retryOf: root.no, rootNo: root.no, retryCount: 1 })])) as [
      Job,
    ];
    const [second] = (await insert(store, [row({ retryOf: first.no, rootNo: root.no, retryCount: 2 })])) as [
      Job,
    ];
    await store.transaction(0, async (tx) => {
      assert.equal((await tx.jobs.lastOfLineage(root.no))?.no, second.no);
      assert.equal(await tx.jobs.lastOfLineage(second.no), null);
    });
  });

  each('never takes a second retry of the same job', async ({ store }) => {
    const [root] = (await insert(store, [row()])) as [Job];
    await insert(store, [row({ retryOf: root.no, rootNo: root.no })]);
    await assert.rejects(insert(store, [row({ retryOf: root.no, rootNo: root.no })]), /unique/i);
  });

  each('never takes a second run of a child for the same end of its parent', async ({ store }) => {
    const [parent, first, second] = (await insert(store, [row(), row(), row()])) as [Job, Job, Job];
    const start = (job: Job, scheduleId: string): Promise<void> =>
      store.transaction(0, async (tx) => tx.runs.insert([chained(job, scheduleId, parent)]));
    await start(first, 'child');
    await assert.rejects(start(second, 'child'), /unique/i);
    await start(second, 'another child');
  });

  each('counts children and finds the unfinished descendants of all generations', async ({ store }) => {
    const [top] = (await insert(store, [row()])) as [Job];
    const done = { finishedAt: 5, state: 'done' as const };
    const [a, b] = (await insert(store, [row({ parentNo: top.no }), row({ parentNo: top.no, ...done })])) as [
      Job,
      Job,
    ];
    const [c, d] = (await insert(store, [row({ parentNo: a.no, ...done }), row({ parentNo: b.no })])) as [
      Job,
      Job,
    ];
    const [e] = (await insert(store, [row({ parentNo: c.no })])) as [Job];
    const [f] = (await insert(store, [row()])) as [Job];
    await insert(store, [row({ parentNo: f.no, state: 'running', cancelRequested: true })]);
    await store.transaction(0, async (tx) => {
      assert.equal(await tx.children.count(top.no), 2);
      assert.equal(await tx.children.count(e.no), 0);
      assert.deepEqual(await tx.children.openBelow([top.no]), [e.no, d.no, a.no]);
      assert.deepEqual(await tx.children.openBelow([b.no, top.no]), [e.no, d.no, a.no], 'each of them once');
      assert.deepEqual(await tx.children.openBelow([e.no, f.no]), []);
      assert.deepEqual(await tx.children.openBelow([]), []);
    });
  });

  each('finds ended jobs that nobody has reacted to yet, oldest first', async ({ store }) => {
    const end = { state: 'done' as const, finishedAt: 5 };
    const jobs = await insert(store, [
      row({ ...end, settled: 1 }),
      row({ ...end, settled: 2 }),
      row(),
      row({ ...end, settled: 1 }),
    ]);
    assert.deepEqual(await store.read.jobs.unsettled(10), [jobs[0]?.no, jobs[3]?.no]);
    assert.deepEqual(await store.read.jobs.unsettled(1), [jobs[0]?.no]);
  });
}

function chained(job: Job, scheduleId: string, parent: Job): Run {
  return {
    jobNo: job.no,
    scheduleId,
    kind: 'chain',
    dueAt: null,
    triggeredBy: parent.no,
    active: RUN_ACTIVE,
    sessionKey: null,
    transport: null,
    dispatchedAt: null,
    lastHeartbeat: null,
    contextSummary: null,
    promptHash: null,
  };
}
