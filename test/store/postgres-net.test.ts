import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { Client } from 'pg';
import { SpineError } from '../../src/domain/error.ts';
import { openPostgres } from '../../src/store/postgres.ts';
import type { Store } from '../../src/store/store.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { rest, until } from '../support/clock.ts';
import { claimNext, create, engineOn, type Opened, read, worker } from '../support/engines.ts';
import { freshDatabase, skipWithoutPostgres } from '../support/postgres.ts';
import { type CommitFault, type PostgresProxy, startPostgresProxy } from '../support/postgres-proxy.ts';

interface Behind extends Pick<Opened, 'engine'> {
  readonly store: Store;
  readonly proxy: PostgresProxy;
}

void describe('PostgreSQL behind a network that breaks', {
  skip: skipWithoutPostgres,
  concurrency: 4,
}, () => {
  const databases: { drop: () => Promise<void> }[] = [];
  after(() => Promise.all(databases.map((database) => database.drop())));

  const behindProxy = (name: string, body: (spine: Behind) => Promise<void>): void => {
    void test(name, async () => {
      const database = await freshDatabase(process.env['TEST_POSTGRES_URL'] ?? '');
      databases.push(database);
      await using proxy = await startPostgresProxy(database.url);
      const clock = {
        ...systemClock(),
        advance: () => Promise.reject(new Error('this is the system clock')),
      };
      const store = await openPostgres({ url: proxy.url, identity: 'test', lanes: 2, pool: 2, clock });
      try {
        await body({ engine: engineOn(store, clock), store, proxy });
      } finally {
        proxy.setNet('open');
        await store.close();
      }
    });
  };

  for (const net of ['stalled', 'silent', 'cut'] as const)
    behindProxy(`answers every caller while the net is ${net}, and works when it heals`, async (spine) => {
      const job = await create(spine);
      spine.proxy.setNet(net);
      const calls = [create(spine), create(spine), claimNext(spine), read(spine, job)];
      const ends = await Promise.all(calls.map((call) => endOf(call)));
      for (const end of ends) assert.match(end, /store_unavailable|outcome_unknown/);
      await until('the trouble is known', () => spine.store.trouble() !== null);
      // From now on nobody waits: trying the network would take seconds.
      let end = '';
      void endOf(create(spine)).then((code) => (end = code));
      await rest();
      assert.equal(end, 'store_unavailable');
      const back = Promise.withResolvers<void>();
      spine.store.onBack(back.resolve);
      spine.proxy.setNet('open');
      assert.equal(await endOf(back.promise), 'done');
      assert.equal(await endOf(create(spine)), 'done');
      assert.equal(spine.store.trouble(), null);
    });

  behindProxy('notices connections that fell silent while the database is well', async (spine) => {
    const job = await create(spine);
    await read(spine, job);
    spine.proxy.halfOpenAll();
    const ends = await Promise.all([create(spine), read(spine, job)].map((call) => endOf(call)));
    for (const end of ends) assert.match(end, /done|store_unavailable|outcome_unknown/);
    // The trouble may just have become known: then the first call is refused at once.
    await until('it works again', async () => (await endOf(create(spine))) === 'done');
    assert.equal((await read(spine, job)).state, 'queued');
  });

  behindProxy('leaves none of the connections behind at the database that fell silent', async (spine) => {
    const job = await create(spine);
    const admin = new Client({ connectionString: process.env['TEST_POSTGRES_URL'] });
    await admin.connect();
    const count = async (): Promise<number> => {
      const { rows } = await admin.query<{ n: string }>(
        'select count(*) as n from pg_stat_activity where datname = $1',
        [new URL(spine.proxy.url).pathname.slice(1)],
      );
      return Number(rows[0]?.n);
    };
    try {
      await Promise.all(Array.from({ length: 8 }, () => read(spine, job)));
      const before = await count();
      spine.proxy.halfOpenAll();
      await until('it works again', async () => {
        const calls = Array.from({ length: 4 }, () => read(spine, job));
        const ends = await Promise.allSettled([...calls, create(spine)]);
        return ends.every((end) => end.status === 'fulfilled');
      });
      await until('the database has ended the old ones', async () => (await count()) <= before);
    } finally {
      await admin.end();
    }
  });

  behindProxy('hears of new work again after its listener fell silent unnoticed', async (spine) => {
    const heard: string[][] = [];
    await spine.store.listen((targets) => heard.push(targets));
    spine.proxy.halfOpenAll();
    await until('new work is heard of', async () => {
      await create(spine, { target: 'far' }).catch(() => undefined);
      return heard.some((targets) => targets.includes('far'));
    });
  });

  behindProxy('lets a statement of a healthy database take its time', async (spine) => {
    await asAdmin(spine.proxy.url, SLOW_META);
    await spine.store.transaction(0, async (tx) => tx.meta.set('slow', 'x'));
    assert.equal(spine.store.trouble(), null);
  });

  behindProxy('frees the locks of a connection that was given up', async (spine) => {
    const job = await create(spine);
    const [held] = await claimNext(spine);
    const locked = Promise.withResolvers<void>();
    const hanging = spine.store.transaction(0, async (tx) => {
      await tx.jobs.lock([job.id]);
      spine.proxy.halfOpenAll();
      locked.resolve();
      await tx.jobs.lock([job.id]);
    });
    await locked.promise;
    assert.match(await endOf(hanging), /store_unavailable/);
    const token = held?.job.leaseToken ?? null;
    const complete = () => spine.engine.leases.complete(worker('w'), job.id, token, null);
    // The other lane fell silent too, which its first user finds out.
    if ((await endOf(complete())) !== 'done') assert.equal(await endOf(complete()), 'done');
  });

  behindProxy(
    'answers the success that was decided when only the word on the commit was lost',
    async (spine) => {
      for (const fault of ['unheard', 'forgotten'] as const) {
        const broken = spine.proxy.breakCommit(fault);
        const job = await create(spine, { target: fault });
        await broken;
        assert.equal((await read(spine, job)).state, 'queued');
        const all = await spine.store.read.counters.all();
        assert.equal(all.find(({ target }) => target === fault)?.n, 1, 'made once');
      }
      const broken = spine.proxy.breakCommit('unheard');
      const [held] = await claimNext(spine, { targets: ['unheard'] });
      await broken;
      await spine.engine.leases.complete(worker('w'), held?.job.id ?? '', held?.job.leaseToken ?? null, null);
    },
  );

  behindProxy(
    'says that nobody knows when the database cannot be asked what became of a commit',
    async (spine) => {
      const end = await atCommit(spine, 'unheard', () => spine.proxy.setNet('cut'));
      assert.equal(end, 'outcome_unknown');
      spine.proxy.setNet('open');
      assert.equal((await counted(spine))[0]?.n, 1, 'it was made');
    },
  );

  behindProxy('says that nothing was changed when the commit never arrived', async (spine) => {
    assert.equal(await atCommit(spine, 'unsent'), 'store_unavailable');
    assert.deepEqual(await counted(spine), []);
    assert.equal(await endOf(create(spine)), 'done');
  });
});

type Counted = Awaited<ReturnType<Store['read']['counters']['all']>>;

/** What there is, asked until there is an answer: the connection that is asked first may be one that broke. */
async function counted({ store }: Behind): Promise<Counted> {
  let found: Counted | null = null;
  await until('the database answers', async () => {
    found = await store.read.counters.all().catch(() => null);
    return found !== null;
  });
  return found ?? [];
}

/** Longer than a connection may be silent. */
const SLOW_META = `
create function sleep() returns trigger language plpgsql as 'begin perform pg_sleep(4); return new; end';
create trigger slow before insert on meta for each row execute function sleep()`;

async function asAdmin(url: string, text: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(text);
  await client.end();
}

/**
 * How a call ended whose commit broke. On a busy machine one may be given up before it comes to its commit: then
 * nothing has happened, and it is made again.
 */
async function atCommit(spine: Behind, fault: CommitFault, then = (): void => {}): Promise<string> {
  let broken = false;
  const breaking = async (): Promise<void> => {
    await spine.proxy.breakCommit(fault);
    then();
    broken = true;
  };
  void breaking();
  for (;;) {
    const end = await endOf(create(spine));
    if (broken) return end;
    assert.equal(end, 'store_unavailable');
    await until('the database is back', () => spine.store.trouble() === null);
  }
}

/** How the call ended: `done`, or the code of its refusal. How soon that is, the proof `partition` measures. */
function endOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => 'done',
    (error: unknown) => (error instanceof SpineError ? error.code : Promise.reject(error as Error)),
  );
}
