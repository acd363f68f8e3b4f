import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { Client } from 'pg';
import type { Actor, ClaimedJob } from '../../src/domain/command.ts';
import type { OperatorChat } from '../../src/domain/delivery.ts';
import { SpineError } from '../../src/domain/error.ts';
import type { Job, State } from '../../src/domain/job.ts';
import type { Ids, TimeSource } from '../../src/domain/ports.ts';
import type { AdviceSettings, EngineSettings } from '../../src/engine/core.ts';
import type { JobDraft } from '../../src/engine/engine.ts';
import type { OutboxPolicy } from '../../src/engine/change-set.ts';
import { type OpenEngine, openEngine } from '../../src/engine/open-engine.ts';
import { settler } from '../../src/loops/settler.ts';
import { timers } from '../../src/loops/timers.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { systemIds } from '../../src/runtime/ids.ts';
import { openPostgres } from '../../src/store/postgres.ts';
import { openSqlite } from '../../src/store/sqlite.ts';
import type { Store } from '../../src/store/store.ts';
import { FakeClock, type TestClock } from './clock.ts';
import { freshDatabase, skipWithoutPostgres } from './postgres.ts';

export interface OpenOptions {
  /** `fake` stands still until the test moves it. */
  readonly clock?: 'fake' | 'system';
  readonly settings?: Partial<EngineSettings>;
  readonly outbox?: OutboxPolicy;
  /** Somebody is asked about failures. */
  readonly advice?: AdviceSettings;
  readonly breakerFailures?: number;
  /** The chat of the operator. */
  readonly chat?: OperatorChat;
  /** Transactions at once on PostgreSQL. */
  readonly lanes?: number;
  /** Where the installation's clock can be set beside the one that tells lengths. */
  readonly time?: TimeSource;
  readonly ids?: Ids;
  /** Where the server stands among others. */
  readonly server?: string;
  /** Puts something between the engine and its store, to inject a fault. */
  readonly wrap?: (store: Store) => Store;
}

/** An engine on a database of its own. */
export interface Opened extends AsyncDisposable {
  readonly engine: OpenEngine;
  readonly store: Store;
  readonly clock: TestClock;
  /** Where the database is: a path, a URL, or ':memory:'. */
  readonly place: string;
  /** A further server on the same database, with connections of its own. Null where only one may exist. */
  readonly another: ((options?: OpenOptions) => Promise<Opened>) | null;
  /** The same database opened again after a clean stop. Null when it is gone by then. */
  readonly reopen: ((options?: OpenOptions) => Promise<Opened>) | null;
  close(): Promise<void>;
}

export interface EngineKind {
  readonly name: string;
  readonly dialect: Store['dialect'];
  readonly skip: string | false;
  open(options?: OpenOptions): Promise<Opened>;
}

const SETTINGS: EngineSettings = { leaseMs: 300_000, maxAttempts: 5, maxUnfinishedJobs: 1_000_000 };

export const SQLITE_MEMORY: EngineKind = {
  name: 'SQLite in memory',
  dialect: 'sqlite',
  skip: false,
  open: async (options = {}) => {
    const store = openSqlite({ file: ':memory:', identity: 'test' });
    const clock = clockOf(options);
    return opened(engineOn(store, clock, options), store, clock, ':memory:', { close: () => store.close() });
  },
};

export const SQLITE_FILE: EngineKind = {
  name: 'SQLite in a file',
  dialect: 'sqlite',
  skip: false,
  open: async (options = {}) => {
    const folder = mkdtempSync(join(tmpdir(), 'spine-engine-'));
    return openFile(join(folder, 'spine.db'), options, () =>
      rmSync(folder, { recursive: true, force: true }),
    );
  },
};

export const POSTGRES: EngineKind = {
  name: 'PostgreSQL',
  dialect: 'postgres',
  skip: skipWithoutPostgres,
  open: async (options = {}) => {
    const database = await newDatabase();
    return openUrl(database.url, options, database.drop);
  },
};

type Database = Awaited<ReturnType<typeof freshDatabase>>;

function newDatabase(): Promise<Database> {
  return freshDatabase(process.env['TEST_POSTGRES_URL'] ?? '');
}

export const ENGINES: readonly EngineKind[] = [SQLITE_MEMORY, SQLITE_FILE, POSTGRES];
/** One of each dialect: enough where the file adds nothing. */
export const DIALECTS: readonly EngineKind[] = [SQLITE_MEMORY, POSTGRES];

async function openFile(file: string, options: OpenOptions, remove: () => void): Promise<Opened> {
  const store = openSqlite({ file, identity: 'test' });
  const clock = clockOf(options);
  return opened(engineOn(store, clock, options), store, clock, file, {
    close: () => store.close(),
    remove: async () => remove(),
    reopen: (next) => openFile(file, next, remove),
  });
}

async function openUrl(url: string, options: OpenOptions, remove: () => Promise<void>): Promise<Opened> {
  const clock = clockOf(options);
  const store = await openPostgres({
    url,
    identity: 'test',
    lanes: options.lanes ?? 2,
    pool: 4,
    clock,
    netClock: systemClock(),
  });
  return opened(engineOn(store, clock, options), store, clock, url, {
    close: () => store.close(),
    remove,
    another: (more) => openUrl(url, more, async () => undefined),
    reopen: (next) => openUrl(url, next, remove),
  });
}

interface Ends {
  readonly close: () => Promise<void>;
  readonly remove?: () => Promise<void>;
  readonly another?: (options: OpenOptions) => Promise<Opened>;
  readonly reopen?: (options: OpenOptions) => Promise<Opened>;
}

function opened(engine: OpenEngine, store: Store, clock: TestClock, place: string, ends: Ends): Opened {
  let stopped: Promise<void> | null = null;
  let handedOn = false;
  const stop = (): Promise<void> => (stopped ??= stopAll(engine, ends));
  const close = async (): Promise<void> => {
    const first = stopped === null;
    await stop();
    if (first && !handedOn) await ends.remove?.();
  };
  const { another, reopen } = ends;
  return {
    engine,
    store,
    clock,
    place,
    another: another ? (options = {}) => another(options) : null,
    reopen: reopen
      ? async (options = {}) => {
          // The database belongs to the next one now.
          handedOn = true;
          await stop();
          return reopen(options);
        }
      : null,
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function stopAll(engine: OpenEngine, ends: Ends): Promise<void> {
  engine.core.stopWaiting();
  await engine.core.flusher.stop();
  await ends.close();
}

function clockOf(options: OpenOptions): TestClock {
  if (options.clock !== 'system') return new FakeClock();
  const clock = systemClock();
  return { ...clock, advance: () => Promise.reject(new Error('the system clock cannot be moved')) };
}

export function engineOn(store: Store, clock: TestClock, options: OpenOptions = {}): OpenEngine {
  return openEngine({
    store: options.wrap?.(store) ?? store,
    clock,
    ids: options.ids ?? systemIds(),
    settings: { ...SETTINGS, ...options.settings },
    ...(options.outbox && { outbox: options.outbox }),
    ...(options.chat && { chat: options.chat }),
    ...(options.advice && { advice: options.advice }),
    ...(options.breakerFailures !== undefined && { breakerFailures: options.breakerFailures }),
    ...(options.time && { time: options.time }),
    ...(options.server && { site: options.server }),
  });
}

/** A database between two tests, and the connection that empties it: a new one takes five times the work of emptying. */
interface Kept {
  readonly database: Database;
  sweeper: Client | null;
}

/** Making a database takes longer than emptying one, so each is handed on empty to the next test. */
class EmptyDatabases {
  readonly #free: Kept[] = [];

  async open(options: OpenOptions = {}): Promise<Opened> {
    const kept = this.#free.pop() ?? { database: await newDatabase(), sweeper: null };
    return openUrl(kept.database.url, options, async () => {
      await empty(kept);
      this.#free.push(kept);
    });
  }

  async drop(): Promise<void> {
    await Promise.all(
      this.#free.splice(0).map(async ({ database, sweeper }) => {
        await sweeper?.end();
        await database.drop();
      }),
    );
  }
}

/** As a database is after its migrations. Connections that a test left open are cut. */
const EMPTY = `
select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid();
set session_replication_role = replica;
do $$
declare found record;
begin
  for found in select tablename as name from pg_tables
    where schemaname = 'public' and tablename not in ('migration', 'revision') loop
    execute format('delete from %I', found.name);
  end loop;
  for found in select sequencename as name from pg_sequences where schemaname = 'public' loop
    -- To restart it would write a new file.
    perform setval(format('%I', found.name), 1, false);
  end loop;
end $$;
update revision set value = 1;
`;

async function empty(kept: Kept): Promise<void> {
  if (kept.sweeper === null) {
    const client = new Client({ connectionString: kept.database.url });
    // Some tests cut all connections, this one too.
    client.on('error', () => (kept.sweeper = null));
    await client.connect();
    kept.sweeper = client;
  }
  await kept.sweeper.query(EMPTY);
}

export type Body = (spine: Opened) => Promise<void>;
export type Each = (name: string, body: Body, options?: OpenOptions) => void;

/** Declares the same tests for every kind of store; each test gets an engine on an empty database. */
export function onEvery(kinds: readonly EngineKind[], declare: (each: Each, kind: EngineKind) => void): void {
  for (const kind of kinds) {
    void describe(kind.name, { skip: kind.skip }, () => {
      const databases = new EmptyDatabases();
      after(() => databases.drop());
      const each: Each = (name, body, options) => {
        void test(name, async () => {
          await using spine = await (kind === POSTGRES ? databases.open(options) : kind.open(options));
          await body(spine);
        });
      };
      declare(each, kind);
    });
  }
}

export const HEAD: Actor = { name: 'head', role: 'head', targets: null };
export const SYSTEM: Actor = { name: 'system', role: 'system', targets: null };

export function worker(name: string, targets: readonly string[] | null = null): Actor {
  return { name, role: 'worker', targets };
}

/** One job, with everything left to its default but what the test is about. */
export async function create(spine: Pick<Opened, 'engine'>, draft: Partial<JobDraft> = {}): Promise<Job> {
  const { jobs } = await spine.engine.jobs.create(HEAD, [{ target: 'any', ...draft }]);
  return jobs[0] as Job;
}

export async function createMany(
  spine: Pick<Opened, 'engine'>,
  count: number,
  draft: Partial<JobDraft> = {},
): Promise<readonly Job[]> {
  const drafts = Array.from({ length: count }, () => ({ target: 'any', ...draft }));
  return (await spine.engine.jobs.create(HEAD, drafts)).jobs;
}

export interface ClaimTerms {
  readonly by?: Actor;
  readonly targets?: readonly string[];
  readonly types?: readonly string[];
  readonly max?: number;
  readonly waitMs?: number;
  readonly leaseMs?: number;
  readonly claimId?: string;
  readonly signal?: AbortSignal;
}

export function claimNext(
  spine: Pick<Opened, 'engine'>,
  asked: ClaimTerms = {},
): Promise<readonly ClaimedJob[]> {
  const { by = worker('w'), targets = ['any'], max = 1, waitMs = 0, ...rest } = asked;
  return spine.engine.leases.claimNext(by, { targets, max, waitMs, ...rest });
}

/** Claims this very job and returns it running. */
export async function claimed(
  spine: Pick<Opened, 'engine'>,
  job: Pick<Job, 'id'>,
  by: Actor = worker('w'),
): Promise<Job> {
  return (await spine.engine.leases.claim(by, job.id)).job;
}

/** Claims and completes. */
export async function finished(
  spine: Pick<Opened, 'engine'>,
  job: Pick<Job, 'id'>,
  result: unknown = null,
): Promise<Job> {
  const held = await claimed(spine, job);
  return (await spine.engine.leases.complete(worker('w'), job.id, held.leaseToken, result)).job;
}

/** Claims and fails. */
export async function failed(
  spine: Pick<Opened, 'engine'>,
  job: Pick<Job, 'id'>,
  requeue = true,
  error: unknown = 'broken',
): Promise<Job> {
  const held = await claimed(spine, job);
  return (await spine.engine.leases.fail(worker('w'), job.id, held.leaseToken, error, requeue)).job;
}

export async function read(spine: Pick<Opened, 'engine'>, job: Pick<Job, 'id'>): Promise<Job> {
  return spine.engine.jobs.get(HEAD, job.id);
}

export async function stateOf(spine: Pick<Opened, 'engine'>, job: Pick<Job, 'id'>): Promise<State> {
  return (await read(spine, job)).state;
}

export async function eventKinds(spine: Pick<Opened, 'engine'>, job: Pick<Job, 'id'>): Promise<string[]> {
  return (await spine.engine.jobs.events(HEAD, job.id, 0, 1_000)).map((event) => event.kind);
}

/** Runs the settling loop until nothing is left to settle. */
export async function settleAll(spine: Pick<Opened, 'engine'>): Promise<void> {
  const duty = settler(spine.engine.core);
  for (let pass = 0; (await duty.runOnce()).done > 0; pass++) {
    if (pass > 100) throw new Error('settling never comes to an end');
  }
}

/** Lets delayed jobs become ready and overdue attempts end, as of now. */
export async function runTimers(spine: Pick<Opened, 'engine'>): Promise<void> {
  await timers(spine.engine.core, () => 0).runOnce();
}

/** How many notices wait to go out. They are taken to be counted, and that is undone. */
export async function outboxSize(store: Store): Promise<number> {
  let size = 0;
  const undone = new Error('only to count');
  const counting = store.transaction(0, async (tx) => {
    size = (await tx.outbox.claim(Number.MAX_SAFE_INTEGER, 1_000, 0)).length;
    throw undone;
  });
  await counting.catch((error: unknown) => {
    if (error !== undone) throw error;
  });
  return size;
}

/** The code with which a call was refused; a call that went through fails the test. */
export async function refusal(call: Promise<unknown>): Promise<string> {
  return (await refused(call)).code;
}

/** Why a settled call was refused; null when it went through. Anything but a refusal fails the test. */
export function reasonOf(end: PromiseSettledResult<unknown> | undefined): SpineError | null {
  if (end?.status !== 'rejected') return null;
  if (end.reason instanceof SpineError) return end.reason;
  throw end.reason;
}

export async function refused(call: Promise<unknown>): Promise<SpineError> {
  try {
    await call;
  } catch (error) {
    if (error instanceof SpineError) return error;
    throw error;
  }
  throw new Error('the call was accepted, but a refusal was expected');
}
