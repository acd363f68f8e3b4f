import assert from 'node:assert/strict';
import type { Actor } from '../../src/domain/command.ts';
import type { Job } from '../../src/domain/job.ts';
import { LIMITS } from '../../src/domain/limits.ts';
import { hearing } from '../../src/loops/hearing.ts';
import { Reaper } from '../../src/loops/reaper.ts';
import { StuckDetector } from '../../src/loops/stuck-detector.ts';
import {
  create,
  DIALECTS,
  eventKinds,
  HEAD,
  onEvery,
  type Opened,
  POSTGRES,
  read,
  reasonOf,
  refusal,
  runTimers,
  settleAll,
  stateOf,
  worker,
} from '../support/engines.ts';
import { everyJob } from '../conformance/events.ts';
import { deliveries } from '../support/delivering.ts';

const MINUTE_MS = 60_000;
const CHAT = { channel: 'telegram', target: '-100', batchMs: 5_000 };

async function join({ engine }: Opened, fullName: string): Promise<Actor> {
  const email = `${fullName.toLowerCase()}@example.org`;
  const { name } = await engine.users.add(HEAD, { email, password: 'x'.repeat(8), fullName, worker: true });
  return worker(name);
}

/** A claim at a door whose workers only have to be there. */
async function taken({ engine }: Opened, by: Actor): Promise<Job> {
  engine.users.heard(by);
  const terms = { targets: ['any'], max: 1, waitMs: 0, policy: 'presence' } as const;
  const [claim] = await engine.leases.claimNext(by, terms);
  assert.ok(claim);
  return claim.job;
}

/** A detector that has looked around already. */
async function detector({ engine, clock }: Opened): Promise<StuckDetector> {
  const made = new StuckDetector({ core: engine.core, everyMs: MINUTE_MS, absenceMs: () => 0 });
  await made.runOnce();
  await clock.advance(MINUTE_MS);
  await made.runOnce();
  return made;
}

/** As the loop does, a look every minute. */
async function watch({ clock }: Opened, stuck: StuckDetector, minutes: number): Promise<void> {
  for (let i = 0; i < minutes; i++) {
    await clock.advance(MINUTE_MS);
    await stuck.runOnce();
  }
}

async function commentsOf({ engine }: Opened, job: Pick<Job, 'id'>): Promise<string[]> {
  return (await engine.jobs.comments(HEAD, job.id, 0, 100)).map(({ text }) => text);
}

onEvery(DIALECTS, (each, { dialect }) => {
  // What another server has heard may be on its way: on PostgreSQL its worker is judged five seconds later.
  const graceMs = dialect === 'postgres' ? 5_000 : 0;

  each(
    'fails a task more than 15 minutes old of a worker silent for more than 10, and says so [TQ-22 TQ-30 K1]',
    async (spine) => {
      const stuck = await detector(spine);
      await create(spine, { title: 'Reddit Crawl for NVDA', announce: true });
      const genesis = await join(spine, 'Genesis');
      const job = await taken(spine, genesis);
      await watch(spine, stuck, 14);
      assert.equal(await stateOf(spine, job), 'running');
      await spine.clock.advance(MINUTE_MS);
      await stuck.runOnce();
      assert.equal(await stateOf(spine, job), 'running', 'not before 15 minutes are over');
      await spine.clock.advance(1);
      await stuck.runOnce();
      assert.equal(await stateOf(spine, job), 'failed');
      assert.deepEqual(await commentsOf(spine, job), [
        'Worker Genesis went offline. Task marked as failed for retry.',
      ]);
      const details = (await spine.engine.jobs.details([await read(spine, job)])).get(job.no);
      assert.equal(details?.error, '"Worker went offline during execution."');
      assert.deepEqual(
        (await deliveries(spine)).map(({ text }) => text),
        ['*Reddit Crawl for NVDA* stuck — Genesis offline. Returning to queue.'],
      );
      assert.deepEqual((await eventKinds(spine, job)).slice(-2), ['job.expired', 'job.comment']);
      await settleAll(spine);
      const again = await taken(spine, await join(spine, 'Nexus'));
      assert.deepEqual([again.retryOf, again.retryCount], [job.no, 1]);
    },
    { chat: CHAT },
  );

  each('never calls a task stuck whose worker is heard, however long it runs [TQ-22 K2]', async (spine) => {
    const stuck = await detector(spine);
    await create(spine);
    const w = await join(spine, 'W');
    const job = await taken(spine, w);
    for (let i = 0; i < 30; i++) {
      await watch(spine, stuck, 2);
      spine.engine.users.heard(w);
    }
    assert.equal(await stateOf(spine, job), 'running');
    const held = await spine.engine.leases.complete(w, job.id, null, 'done');
    assert.equal(held.job.state, 'done');
  });

  each(
    'asks for both: a young task, or a worker heard 9 minutes ago, is not stuck [TQ-22 K3]',
    async (spine) => {
      const stuck = await detector(spine);
      await create(spine);
      await create(spine);
      const [silent, late] = [await join(spine, 'Silent'), await join(spine, 'Late')];
      const old = await taken(spine, late);
      for (let i = 0; i < 5; i++) {
        await watch(spine, stuck, 9);
        spine.engine.users.heard(late);
      }
      const young = await taken(spine, silent);
      await watch(spine, stuck, 9);
      assert.deepEqual([await stateOf(spine, old), await stateOf(spine, young)], ['running', 'running']);
      spine.engine.users.heard(late);
      await watch(spine, stuck, 5);
      assert.equal(await stateOf(spine, young), 'running', 'silent for 14 minutes, and 14 old');
      await watch(spine, stuck, 2);
      assert.deepEqual([await stateOf(spine, old), await stateOf(spine, young)], ['running', 'failed']);
    },
  );

  each('judges silence to the millisecond [TQ-22]', async (spine) => {
    const stuck = await detector(spine);
    await create(spine);
    const w = await join(spine, 'W');
    const job = await taken(spine, w);
    await watch(spine, stuck, 20);
    assert.equal(await stateOf(spine, job), 'failed');
    await settleAll(spine);
    const next = await taken(spine, w);
    for (let i = 0; i < 8; i++) {
      await watch(spine, stuck, 2);
      spine.engine.users.heard(w);
    }
    await watch(spine, stuck, 9);
    await spine.clock.advance(MINUTE_MS + graceMs);
    await stuck.runOnce();
    assert.equal(await stateOf(spine, next), 'running');
    await spine.clock.advance(1);
    await stuck.runOnce();
    assert.equal(await stateOf(spine, next), 'failed');
  });

  each('finds the tasks of a worker that was never heard, was removed, or is none [K4]', async (spine) => {
    const stuck = await detector(spine);
    await create(spine);
    await create(spine);
    const ids = (await everyJob(spine)).map(({ id }) => id);
    const [never, removed] = [await join(spine, 'Never'), await join(spine, 'Removed')];
    // An operator starts it in the name of a worker that has never called.
    await spine.engine.leases.claim({ ...never, role: 'system' }, ids[0] ?? '', { policy: 'presence' });
    const other = await taken(spine, removed);
    await spine.engine.users.remove(HEAD, 'removed@example.org');
    spine.engine.users.heard(removed);
    await watch(spine, stuck, 15);
    assert.equal(await stateOf(spine, other), 'running');
    await watch(spine, stuck, 1);
    assert.deepEqual(
      (await everyJob(spine)).map(({ state }) => state),
      ['failed', 'failed'],
    );
  });

  each('a task that an online worker forgot ends by its own limit, and is retried', async (spine) => {
    await create(spine);
    const w = await join(spine, 'W');
    const job = await taken(spine, w);
    await spine.clock.advance(86_399_999);
    await runTimers(spine);
    assert.equal(await stateOf(spine, job), 'running');
    // A sign of life about this very task counts.
    await spine.engine.leases.heartbeat(w, job.id, null, null);
    await spine.clock.advance(86_399_999);
    spine.engine.users.heard(w);
    await runTimers(spine);
    assert.equal(await stateOf(spine, job), 'running');
    await spine.clock.advance(1);
    await runTimers(spine);
    const ended = await read(spine, job);
    assert.deepEqual([ended.state, ended.cause], ['failed', 'timeout']);
    await settleAll(spine);
    assert.equal((await everyJob(spine)).length, 2);
  });

  each(
    'whoever wakes after its task was failed changes nothing, and what it brings is kept [K5]',
    async (spine) => {
      const stuck = await detector(spine);
      await create(spine);
      const w = await join(spine, 'W');
      const job = await taken(spine, w);
      await watch(spine, stuck, 16);
      await settleAll(spine);
      for (const late of [
        spine.engine.leases.complete(w, job.id, null, { posts: 847 }),
        spine.engine.leases.complete(w, job.id, job.leaseToken, { posts: 847 }),
      ])
        assert.match(await refusal(late), /^(not_running|lease_lost)$/);
      const tooLate = (by: Actor, id: string, brought: string): Promise<string> =>
        spine.engine.leases.tooLate(by, id, brought);
      assert.deepEqual(
        [
          await tooLate(w, job.id, 'completed {"posts":847}'),
          await tooLate(w, job.id, 'completed {"posts":847}'),
          await tooLate(await join(spine, 'Stranger'), job.id, 'mine'),
        ],
        ['kept', 'kept', 'not late'],
      );
      assert.deepEqual((await commentsOf(spine, job)).slice(2), ['Came too late: completed {"posts":847}']);
      assert.equal(await stateOf(spine, job), 'failed');
      const retry = await taken(spine, await join(spine, 'Other'));
      assert.equal(retry.retryOf, job.no);
      assert.equal(await tooLate(w, retry.id, 'mine'), 'not late');
      assert.equal(await stateOf(spine, retry), 'running');
    },
  );

  each(
    'all that comes late is kept, however long it is, or it is said that nothing is [K5]',
    async (spine) => {
      const stuck = await detector(spine);
      await create(spine);
      const w = await join(spine, 'W');
      const job = await taken(spine, w);
      await watch(spine, stuck, 16);
      const { leases } = spine.engine;
      const long = JSON.stringify({ a: '"🚀'.repeat(20_000) });
      assert.deepEqual(
        [await leases.tooLate(w, job.id, long), await leases.tooLate(w, job.id, long)],
        ['kept', 'kept'],
      );
      const [, ...parts] = await commentsOf(spine, job);
      assert.equal(
        parts.map((part) => /^Came too late \(\d of \d\): ([^]*)$/.exec(part)?.[1]).join(''),
        long,
      );
      assert.ok(parts.every((part) => part.length <= LIMITS.commentChars && part.isWellFormed()));
      const endless = 'x'.repeat(LIMITS.commentChars * LIMITS.lateWords);
      assert.equal(await leases.tooLate(w, job.id, endless), 'no room');
      assert.equal((await commentsOf(spine, job)).length, parts.length + 1);
    },
  );

  each(
    'a worker that says all it may shuts nobody out: what has to be said of its task is [TQ-22 TQ-25]',
    async (spine) => {
      const { jobs, leases } = spine.engine;
      const stuck = await detector(spine);
      await create(spine);
      const w = await join(spine, 'W');
      const job = await taken(spine, w);
      const said = await Promise.allSettled(
        Array.from({ length: LIMITS.commentsPerJob }, (_, i) => jobs.comment(w, job.id, `${i}`)),
      );
      const refused = said.filter(({ status }) => status === 'rejected');
      assert.equal(refused.length, LIMITS.commentsReserved);
      assert.equal(reasonOf(refused[0] as PromiseSettledResult<unknown>)?.code, 'conflict');
      await watch(spine, stuck, 16);
      await settleAll(spine);
      assert.equal(await leases.tooLate(w, job.id, 'what was asked for'), 'no room');
      await jobs.comment(HEAD, job.id, 'Why so much?');
      const last = await jobs.comments(HEAD, job.id, LIMITS.commentsPerJob - LIMITS.commentsReserved, 100);
      assert.deepEqual(
        last.map(({ text }) => text),
        ['Worker W went offline. Task marked as failed for retry.', 'Retry #1 created', 'Why so much?'],
      );
    },
  );

  each(
    'after a time in which nobody was heard, workers get time to call before they are judged [K7]',
    async (spine) => {
      const stuck = await detector(spine);
      await create(spine);
      await create(spine);
      const [alive, gone] = [await join(spine, 'Alive'), await join(spine, 'Gone')];
      const jobs = [await taken(spine, alive), await taken(spine, gone)] as const;
      // The server stands still for an hour.
      await spine.clock.advance(60 * MINUTE_MS);
      const pass = await stuck.runOnce();
      assert.deepEqual([pass.done, pass.nextInMs], [0, 5 * MINUTE_MS]);
      await watch(spine, stuck, 2);
      spine.engine.users.heard(alive);
      await watch(spine, stuck, 4);
      assert.deepEqual([await stateOf(spine, jobs[0]), await stateOf(spine, jobs[1])], ['running', 'failed']);
      const late = new StuckDetector({ core: spine.engine.core, everyMs: MINUTE_MS, absenceMs: () => 0 });
      await spine.clock.advance(30 * MINUTE_MS);
      assert.deepEqual((await late.runOnce()).done, 0, 'a server that has just started');
      await watch(spine, late, 1);
      assert.equal(await stateOf(spine, jobs[0]), 'failed');
    },
  );

  each('a lease keeps its own rule, whoever looks after it [TQ-22]', async (spine) => {
    const w = await join(spine, 'W');
    const stuck = await detector(spine);
    const own = await create(spine, { leaseMs: 86_400_000 });
    await spine.engine.leases.claim(w, own.id);
    const present = await create(spine, { leaseMs: 1_000, maxAttempts: 9 });
    const { job: held } = await spine.engine.leases.claim(w, present.id, { policy: 'presence' });
    // The worker is silent for hours: the lease of the one lasts a day, and the other is not for the reaper.
    await spine.clock.advance(14 * MINUTE_MS);
    const reaper = new Reaper(spine.engine.core, 1_000);
    await reaper.pulse().runOnce();
    await spine.clock.advance(1_000);
    await reaper.pulse().runOnce();
    await reaper.runOnce();
    assert.equal(await stateOf(spine, present), 'running');
    // A heartbeat of any door does not make it the other kind.
    const beat = await spine.engine.leases.heartbeat(w, present.id, null, { percent: 1 });
    assert.equal(beat.job.leasePolicy, 'presence');
    assert.equal(beat.job.leaseUntil, held.leaseUntil);
    await stuck.runOnce();
    await watch(spine, stuck, 20);
    assert.deepEqual([await stateOf(spine, own), await stateOf(spine, present)], ['running', 'failed']);
  });

  each(
    'failures under it are final for the job, however it was made, and no more than its own',
    async (spine) => {
      await spine.engine.types.save(HEAD, { name: 't0', maxRetries: 0 });
      const w = await join(spine, 'W');
      const follows = async (draft: object): Promise<unknown[]> => {
        const job = await create(spine, draft);
        const [claim] = [await spine.engine.leases.claim(w, job.id, { policy: 'presence' })];
        const { job: ended } = await spine.engine.leases.fail(w, claim.job.id, null, 'broken', true);
        await settleAll(spine);
        const [next] = (await everyJob(spine)).filter(({ retryOf }) => retryOf === job.no);
        return [ended.state, next?.state ?? null, next?.retryMode ?? null, next?.target ?? null];
      };
      const lineage = { mode: 'lineage' } as const;
      assert.deepEqual(await follows({}), ['failed', 'queued', 'lineage', 'any']);
      assert.deepEqual(await follows({ retry: lineage }), ['failed', 'queued', 'lineage', 'any']);
      assert.deepEqual(await follows({ target: w.name }), ['failed', 'queued', 'lineage', 'any']);
      assert.deepEqual(await follows({ target: 'gpu' }), ['failed', 'queued', 'lineage', 'gpu']);
      assert.deepEqual(await follows({ maxAttempts: 1 }), ['dead', null, null, null]);
      assert.deepEqual(await follows({ type: 't0' }), ['dead', null, null, null]);
      assert.deepEqual(await follows({ type: 't0', retry: { max: 1 } }), [
        'failed',
        'queued',
        'lineage',
        'any',
      ]);
    },
  );

  each(
    'a bot that ends nothing gets no more than its share, and the others theirs [TQ-01]',
    async (spine) => {
      const { engine } = spine;
      const crowded: string[] = [];
      engine.core.hints.crowded = (name, held) => crowded.push(`${name} ${held}`);
      const [hoarder, other] = [await join(spine, 'Hoarder'), await join(spine, 'Other')];
      const claim = (by: Actor) => engine.bots.claim({ ...by, targets: ['any', by.name] });
      const most = engine.core.workers.botTasks;
      await engine.jobs.create(
        HEAD,
        Array.from({ length: most + 3 }, () => ({ target: 'any' })),
      );
      const held: Job[] = [];
      for (let i = 0; i < most; i++) held.push((await claim(hoarder))?.job as Job);
      assert.deepEqual([await claim(hoarder), await claim(hoarder)], [null, null]);
      assert.deepEqual(crowded, [`${hoarder.name} ${most}`], 'it is told once');
      assert.ok(await claim(other));
      await engine.leases.complete(hoarder, held[0]?.id ?? '', null, null);
      assert.ok(await claim(hoarder));
      assert.equal(await claim(hoarder), null);
      assert.equal(crowded.length, 2);
      await engine.jobs.create(
        HEAD,
        Array.from({ length: most + 20 }, () => ({ target: 'any' })),
      );
      const third = await join(spine, 'Third');
      const atOnce = await Promise.all(Array.from({ length: most + 20 }, () => claim(third)));
      assert.equal(atOnce.filter((one) => one !== null).length, most, 'nor do claims at once');
      assert.equal(await claim(third), null);
    },
  );

  each('keeps what it heard until it is written down', async (spine) => {
    const { engine, clock, store } = spine;
    const w = await join(spine, 'W');
    let wakes = 0;
    engine.core.hints.heard = () => void wakes++;
    engine.users.heard(w);
    engine.users.heard(w);
    await clock.advance(4_999);
    engine.users.heard(w);
    assert.equal(wakes, 1, 'no more than one write in five seconds');
    const [seen] = await engine.users.list();
    assert.equal(seen?.lastActivityAt, engine.now());
    assert.equal((await store.read.users.all())[0]?.lastActivityAt, null);
    await hearing(engine.core).runOnce();
    assert.equal((await store.read.users.all())[0]?.lastActivityAt, engine.now());
    await clock.advance(1);
    engine.users.heard(w);
    assert.equal(wakes, 2);
  });
});

onEvery([POSTGRES], (each) => {
  each('two servers find a stuck task once, and one sees what the other has heard', async (spine) => {
    const other = await spine.another?.();
    assert.ok(other);
    await using second = other;
    const [here, there] = [await detector(spine), await detector(second)];
    const w = await join(spine, 'W');
    await create(spine);
    await create(spine, { announce: true });
    const lost = await taken(spine, worker('nobody-known'));
    const job = await taken(spine, w);
    for (let i = 0; i < 8; i++) {
      for (const each of [spine, second]) await each.clock.advance(2 * MINUTE_MS);
      // It calls the other server by now.
      second.engine.users.heard(w);
      await hearing(second.engine.core).runOnce();
      await Promise.all([here.runOnce(), there.runOnce()]);
    }
    assert.deepEqual([await stateOf(spine, job), await stateOf(spine, lost)], ['running', 'failed']);
    assert.equal((await commentsOf(spine, lost)).length, 1);
  });
});
