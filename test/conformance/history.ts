import assert from 'node:assert/strict';
import type { FeedPlace, JobEvent } from '../../src/domain/event.ts';
import { create, createMany, type Each, HEAD, type Opened } from '../support/engines.ts';
import { numberAll } from './events.ts';

const BEGINNING: FeedPlace = { pos: 0, ordinal: -1 };
/** More than a row holds, several times over. */
const MANY = 30;

export function historyTopics(each: Each): void {
  each('tells the whole history of a job that went through much more than its row holds', async (spine) => {
    const job = await create(spine);
    const texts = Array.from({ length: MANY }, (_, i) => `Grüße ${i} "\\ , ] 🚀`);
    for (const text of texts) await spine.engine.jobs.comment(HEAD, job.id, text);
    const events = await historyOf(spine, job.id);
    assert.deepEqual(
      events.map(({ seq }) => seq),
      Array.from({ length: MANY + 1 }, (_, i) => i + 1),
    );
    assert.deepEqual(
      events.slice(1).map(({ kind, by, facts }) => [kind, by, facts]),
      texts.map((text) => ['job.comment', 'head', { text }]),
    );
    assert.deepEqual(await inPages(spine, job.id, 7), events);
  });

  each('tells the same in the feed as in the histories of the jobs', async (spine) => {
    const jobs = await createMany(spine, 3);
    for (let i = 0; i < MANY; i++)
      await Promise.all(jobs.map((job) => spine.engine.jobs.comment(HEAD, job.id, `${i}`)));
    await numberAll(spine);
    const feed = await spine.engine.jobs.feed({ pos: 0, ordinal: -1 }, 1_000);
    for (const job of jobs) {
      const told = feed.filter(({ jobId }) => jobId === job.id);
      assert.deepEqual(
        told.map(({ jobNo, seq, at, kind, by, facts }) => ({ jobNo, seq, at, kind, by, facts })),
        await historyOf(spine, job.id),
      );
    }
  });

  each('feeds what comes after the events of pruned jobs', async (spine) => {
    const jobs = await createMany(spine, 12);
    await numberAll(spine);
    const gone = jobs.slice(0, 9).map(({ no }) => no);
    await spine.store.transaction(0, async (tx) => tx.jobs.remove(gone));
    const feed = await spine.engine.jobs.feed({ pos: 0, ordinal: -1 }, 2);
    assert.deepEqual(
      feed.map(({ jobId }) => jobId),
      jobs.slice(9, 11).map(({ id }) => id),
    );
    assert.deepEqual(await spine.store.read.feed.ofJob(gone[0] ?? 0, 0, 10), []);
  });

  each('lists events with those of pruned jobs, in pages of any size', async (spine) => {
    const { read } = spine.store;
    const jobs = await createMany(spine, 12);
    for (const job of jobs) await spine.engine.jobs.comment(HEAD, job.id, 'Grüße');
    await numberAll(spine);
    const feed = await read.feed.after(BEGINNING, 1_000);
    const all = feed.map(({ pos, ordinal, jobNo, seq, at, kind, by, facts }) => {
      return { pos, ordinal, jobNo, seq, at, kind, by, facts };
    });
    const gone = jobs.slice(2, 9).map(({ no }) => no);
    await spine.store.transaction(0, async (tx) => tx.jobs.remove(gone));
    assert.equal(all.length, 24);
    assert.deepEqual(await read.feed.entries(BEGINNING, 1_000), all);
    for (const [i, place] of all.entries())
      assert.deepEqual(await read.feed.entries(place, 3), all.slice(i + 1, i + 4));
    assert.deepEqual(
      await read.feed.after(BEGINNING, 1_000),
      feed.filter(({ jobNo }) => !gone.includes(jobNo)),
    );
  });

  each('lists as many events as are wanted, however many commits they are spread over', async (spine) => {
    const { id } = await create(spine);
    for (let i = 0; i < 300; i++) await spine.engine.jobs.comment(HEAD, id, `${i}`);
    await numberAll(spine);
    const all = await spine.store.read.feed.entries(BEGINNING, 1_000);
    assert.deepEqual(
      all.map(({ seq }) => seq),
      Array.from({ length: 301 }, (_, i) => i + 1),
    );
    assert.deepEqual(await spine.store.read.feed.entries(BEGINNING, 299), all.slice(0, 299));
  });
}

function historyOf({ engine }: Opened, id: string): Promise<JobEvent[]> {
  return engine.jobs.events(HEAD, id, 0, 1_000);
}

async function inPages({ engine }: Opened, id: string, size: number): Promise<JobEvent[]> {
  const all: JobEvent[] = [];
  for (;;) {
    const page = await engine.jobs.events(HEAD, id, all.at(-1)?.seq ?? 0, size);
    if (page.length === 0) return all;
    all.push(...page);
  }
}
