import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import type { FeedEvent, FeedPlace, JobEvent } from '../../src/domain/event.ts';
import type { Job } from '../../src/domain/job.ts';
import type { Store } from '../../src/store/store.ts';
import { rest, until } from '../support/clock.ts';
import {
  reasonOf,
  claimNext,
  create,
  createMany,
  HEAD,
  onEvery,
  type Opened,
  POSTGRES,
  read,
  refusal,
  SYSTEM,
  worker,
} from '../support/engines.ts';
import { everyJob, numberAll } from './events.ts';
import { survivesKill } from './kill.ts';
import { insert, row } from './rows.ts';
import { storeConformance } from './store.ts';

storeConformance(POSTGRES);
survivesKill(POSTGRES);

const CLAIMER = fileURLToPath(new URL('child-claimer.ts', import.meta.url));

onEvery([POSTGRES], (each) => {
  each('hands each of 300 jobs to exactly one of the claimers in three processes', async (spine) => {
    await createMany(spine, 300);
    const outputs = await Promise.all([1, 2, 3].map(() => runClaimer(spine.place)));
    const taken = outputs.flat();
    assert.equal(taken.length, 300);
    assert.equal(new Set(taken).size, 300);
    assert.deepEqual(await spine.engine.counts(), [{ target: 'any', state: 'done', n: 300 }]);
    for (const job of await everyJob(spine)) assert.equal(job.fence, 1);
  });

  each('hands each of 300 jobs to exactly one of the claimers of three servers', async (spine) => {
    const servers = [spine, await another(spine), await another(spine)];
    await createMany(spine, 300);
    const taken = (
      await Promise.all(
        servers.flatMap((server, s) =>
          Array.from({ length: 4 }, async (_, i) => {
            const mine: string[] = [];
            for (;;) {
              const held = await claimNext(server, { by: worker(`s${s}w${i}`), max: 5 });
              if (held.length === 0) return mine;
              mine.push(...held.map(({ job }) => job.id));
            }
          }),
        ),
      )
    ).flat();
    await Promise.all(servers.slice(1).map((server) => server.close()));
    assert.equal(new Set(taken).size, taken.length);
    // Rows that another server looked at were passed over: what is left is taken by a last look.
    const left = await claimNext(spine, { max: 300 });
    assert.equal(taken.length + left.length, 300);
  });

  each('hands out a message once, also when another server takes it meanwhile', async (spine) => {
    const [held, here, there] = await createMany(spine, 3);
    assert.ok(held && here && there);
    await claimNext(spine, { by: worker('alice') });
    await using other = await connected(spine);
    await other.client.query(manyMessages(held.no));
    const found = spine.store.transaction(0, (tx) =>
      tx.receipts.handOut('alice', { jobNo: here.no, fence: 1 }, 2, 10),
    );
    await until('it looks', async () => (await other.client.query(LOOKS_FOR_MAIL)).rowCount === 1);
    const { rowCount: taken } = await other.client.query(
      `with claimed as (update job set state = 'running', fence = 1 where no = $1)
       update receipt set job_no = $1, fence = 1 where agent = 'alice' and job_no is null`,
      [there.no],
    );
    assert.equal((await found).length + (taken ?? 0), 1);
  });

  each('lets one of twenty creators win a unique key over two servers', async (spine) => {
    await using other = await another(spine);
    const ends = await Promise.allSettled(
      Array.from({ length: 20 }, (_, i) =>
        create(i % 2 === 0 ? spine : other, { uniqueKey: 'k', type: 't' }),
      ),
    );
    assert.equal(ends.filter((end) => end.status === 'fulfilled').length, 1);
    for (const end of ends)
      if (end.status === 'rejected') assert.equal(reasonOf(end)?.code, 'unique_key_taken');
  });

  each('makes one job of an idempotency key that two servers see at once', async (spine) => {
    await using other = await another(spine);
    const call = (server: Opened) =>
      server.engine.jobs.create(HEAD, [{ target: 'any' }], { key: 'k', bodyHash: 'h' });
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => call(i % 2 === 0 ? spine : other)),
    );
    assert.equal(new Set(answers.map((answer) => answer.jobs[0]?.id)).size, 1);
    assert.equal((await everyJob(spine)).length, 1);
  });

  each('ends a lease once when two servers find it expired', async (spine) => {
    await using other = await another(spine);
    const jobs = await createMany(spine, 10, { leaseMs: 1_000 });
    await claimNext(spine, { max: 10 });
    await Promise.all([spine.clock.advance(5_000), other.clock.advance(5_000)]);
    const expire = (server: Opened) =>
      jobs.map(({ id }) => server.engine.core.perform({ kind: 'expire', id, actor: SYSTEM }));
    await Promise.all([...expire(spine), ...expire(other)]);
    for (const job of jobs)
      assert.equal(
        (await spine.engine.jobs.events(HEAD, job.id, 0, 10)).filter(({ kind }) => kind === 'job.expired')
          .length,
        1,
      );
  });

  each('sees what another server did to a job it holds itself', async (spine) => {
    await using other = await another(spine);
    const [cancelled, lost, deleted, kept] = (await createMany(spine, 4)) as [Job, Job, Job, Job];
    const holder = worker('holder');
    const held = await claimNext(spine, { by: holder, max: 4 });
    await other.engine.leases.heartbeat(HEAD, kept.id, null, 'half');
    await other.engine.jobs.cancel(HEAD, cancelled.id, 'not needed');
    await other.engine.leases.release(HEAD, lost.id, null, 'given to another');
    await claimNext(other, { by: worker('other') });
    await other.store.transaction(0, async (tx) => tx.jobs.remove([deleted.no]));
    const end = (job: Job) => {
      const token = held.find((each) => each.job.id === job.id)?.job.leaseToken ?? null;
      return spine.engine.leases.complete(holder, job.id, token, null);
    };
    // All in one flush: what was written since is read again, the rest stays as it is known.
    const ends = await Promise.allSettled([cancelled, lost, deleted, kept].map(end));
    assert.deepEqual(
      ends.map((each) => (each.status === 'rejected' ? reasonOf(each)?.code : each.status)),
      ['fulfilled', 'lease_lost', 'not_found', 'fulfilled'],
    );
    assert.equal((await read(spine, lost)).claimedBy, 'other');
    const done = await read(spine, kept);
    assert.deepEqual([done.state, done.progress, done.seq], ['done', '"half"', 4]);
    assert.equal((await read(spine, cancelled)).cancelRequested, true);
  });

  each('does not remember what was rolled back', async (spine) => {
    const job = await create(spine);
    const holder = worker('holder');
    const [held] = await claimNext(spine, { by: holder });
    const undone = spine.store.transaction(0, async (tx) => {
      const [before] = (await tx.jobs.lock([job.id])) as [Job];
      await tx.jobs.update([{ before, after: { ...before, progress: '"lost"', seq: 99 }, kind: 'other' }]);
      throw new Error('undone');
    });
    await assert.rejects(undone, /undone/);
    await spine.engine.leases.complete(holder, job.id, held?.job.leaseToken ?? null, null);
    const done = await read(spine, job);
    assert.deepEqual([done.progress, done.seq], [null, 3]);
  });

  each('does not deadlock when two servers change the same jobs in opposite order', async (spine) => {
    await using other = await another(spine);
    const jobs = await createMany(spine, 30);
    const say = (server: Opened, list: readonly Job[]) =>
      list.map(({ id }) => server.engine.jobs.comment(HEAD, id, 'x'));
    for (let round = 0; round < 5; round++)
      await Promise.all([...say(spine, jobs), ...say(other, jobs.toReversed())]);
    for (const job of jobs) assert.equal((await read(spine, job)).comments, 10);
  });

  each('does not skip what was numbered early and committed late', async ({ store, engine }) => {
    const jobs = (await insert(store, [row(), row()])) as [Job, Job];
    const released = Promise.withResolvers<void>();
    const written = Promise.withResolvers<void>();
    const late = store.transaction(0, async (tx) => {
      await tx.feed.add([event(jobs[0], 1)], 1);
      written.resolve();
      await released.promise;
    });
    await written.promise;
    await store.transaction(1, async (tx) => tx.feed.add([event(jobs[1], 1)], 2));
    const number = () => store.transaction(1, async (tx) => tx.feed.number(100));
    assert.equal(await number(), 1);
    const first = await engine.jobs.feed({ pos: 0, ordinal: -1 }, 10);
    assert.deepEqual(
      first.map(({ jobId }) => jobId),
      [jobs[1].id],
    );
    released.resolve();
    await late;
    assert.deepEqual(
      await engine.jobs.feed(placeOf(first), 10),
      [],
      'nothing has a place before it is numbered',
    );
    assert.equal(await number(), 1);
    const second = await engine.jobs.feed(placeOf(first), 10);
    assert.deepEqual(
      second.map(({ jobId }) => jobId),
      [jobs[0].id],
    );
  });

  each('feeds a reader every event in job order while two servers write and number', async (spine) => {
    await using other = await another(spine);
    const jobs = await createMany(spine, 5);
    const work = { going: true };
    const write = Promise.all(
      [spine, other].map(async (server) => {
        for (let i = 0; i < 25; i++)
          await Promise.all(jobs.map((job) => server.engine.jobs.comment(HEAD, job.id, `${i}`)));
      }),
    ).finally(() => (work.going = false));
    const number = (async () => {
      while (work.going)
        await other.engine.core.flusher.transact(SYSTEM, async (tx) => tx.feed.number(1_000));
    })();
    const seen: FeedEvent[] = [];
    const follow = async (): Promise<void> => {
      for (
        let page = await spine.engine.jobs.feed(placeOf(seen), 7);
        page.length > 0;
        page = await spine.engine.jobs.feed(placeOf(seen), 7)
      )
        seen.push(...page);
    };
    while (work.going) {
      await follow();
      await rest(1);
    }
    await Promise.all([write, number]);
    await numberAll(spine);
    await follow();
    for (const job of jobs) {
      const seqs = seen.filter(({ jobNo }) => jobNo === job.no).map(({ seq }) => seq);
      assert.deepEqual(
        seqs,
        Array.from({ length: 51 }, (_, i) => i + 1),
      );
    }
  });

  each('leaves the numbering to the server that is at it', async ({ store }) => {
    const [job] = (await insert(store, [row()])) as [Job];
    await store.transaction(0, async (tx) => tx.feed.add([event(job, 1)], 1));
    await store.transaction(0, async (tx) => {
      assert.equal(await tx.feed.number(10), 1);
      assert.equal(await numberOnce(store), 0);
    });
    assert.equal((await store.read.feed.after({ pos: 0, ordinal: -1 }, 10)).length, 1);
  });

  each('tells the other servers which targets have work', async (spine) => {
    await using other = await another(spine);
    const heard = Promise.withResolvers<string[]>();
    await other.store.listen(heard.resolve);
    await create(spine, { target: 'queue-ü' });
    assert.deepEqual(await heard.promise, ['queue-ü']);
  });

  each('passes over words on the channel that no server has sent', async (spine) => {
    const heard: string[][] = [];
    const real = Promise.withResolvers<void>();
    await spine.store.listen((targets) => {
      heard.push(targets);
      real.resolve();
    });
    const foreign = [
      'no JSON',
      '',
      'null',
      '"any"',
      '{"targets":["any"]}',
      '[1]',
      '[["any"]]',
      `["${'x'.repeat(7_900)}`,
    ];
    for (const payload of foreign) await asAnother(spine, `select pg_notify('spine_wake', $1)`, [payload]);
    await asAnother(spine, 'notify spine_wake');
    await create(spine, { target: 'ours' });
    await real.promise;
    assert.deepEqual(heard, [['ours']]);
  });

  each('takes jobs for more targets than fit into one word to the other servers', async (spine) => {
    const drafts = Array.from({ length: 80 }, (_, i) => ({ target: `${i}-${'ü'.repeat(80)}` }));
    const heard = Promise.withResolvers<string[]>();
    await spine.store.listen(heard.resolve);
    assert.equal((await spine.engine.jobs.create(HEAD, drafts)).jobs.length, 80);
    assert.deepEqual(await heard.promise, [], 'everybody looks');
  });

  each(
    'takes part in a flush only as one: a claim that another server already has is refused',
    async (spine) => {
      await using other = await another(spine);
      const job = await create(spine);
      const claims = [spine, other, spine, other].map((server, i) =>
        server.engine.leases.claim(worker(`w${i}`), job.id),
      );
      const ends = await Promise.allSettled(claims);
      assert.equal(ends.filter((end) => end.status === 'fulfilled').length, 1);
    },
  );

  each('goes on by itself after the database has cut its connections', async (spine) => {
    const job = await create(spine);
    await spine.store.read.types.all();
    await cutConnections(spine);
    const tries = await Promise.allSettled([create(spine), create(spine)]);
    for (const end of tries)
      if (end.status === 'rejected') assert.equal(reasonOf(end)?.code, 'store_unavailable');
    // Every lane may have one call more that finds its connection gone.
    await until('a call goes through', () =>
      create(spine).then(
        () => true,
        () => false,
      ),
    );
    assert.equal((await create(spine)).state, 'queued');
    assert.equal(await refusal(spine.engine.leases.claim(worker('w'), 'nobody')), 'not_found');
    assert.equal((await read(spine, job)).state, 'queued');
  });
});

async function another(spine: Opened): Promise<Opened> {
  if (spine.another === null) throw new Error('this store takes one server only');
  return spine.another();
}

async function runClaimer(place: string): Promise<string[]> {
  const child = spawn(process.execPath, [CLAIMER, place], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [output] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  assert.equal(child.exitCode, 0);
  return output.split('\n').filter(Boolean);
}

function cutConnections(spine: Opened): Promise<void> {
  return asAnother(
    spine,
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  );
}

/** Many that are on their way with a running job, and behind them one that is free: to find it takes a while. */
const manyMessages = (jobNo: number): string => `
  insert into message (id, kind, sender, recipient, status, body, priority, rank, created_at)
  select 'm' || n, 'text', 'head', 'alice', 'delivered', 'hello', 0, n, 1 from generate_series(1, 30000) n;
  insert into receipt (message_no, agent, rank, open, job_no, fence)
  select no, 'alice', rank, 1, case when rank < 30000 then ${jobNo} end, 1 from message`;
const LOOKS_FOR_MAIL = `
  select 1 from pg_stat_activity
  where datname = current_database() and state = 'active' and query like '%for update of receipt skip locked'`;

/** What any program with a right to the database may do. */
async function asAnother(spine: Opened, text: string, values: string[] = []): Promise<void> {
  await using other = await connected(spine);
  await other.client.query(text, values);
}

async function connected({ place }: Opened) {
  const client = new Client({ connectionString: place });
  await client.connect();
  return { client, [Symbol.asyncDispose]: () => client.end() };
}

function numberOnce(store: Store): Promise<number> {
  return store.transaction(1, async (tx) => tx.feed.number(1_000));
}

function event(job: Job, seq: number): JobEvent {
  return { jobNo: job.no, seq, at: 1, kind: 'job.comment', by: 'x', facts: null };
}

function placeOf(seen: readonly FeedEvent[]): FeedPlace {
  const last = seen.at(-1);
  return last === undefined ? { pos: 0, ordinal: -1 } : { pos: last.pos, ordinal: last.ordinal };
}
