import { match, ok, rejects, strictEqual } from 'node:assert';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { SpineError } from '../../src/domain/error.ts';
import { openDataDir } from '../../src/store/datadir.ts';
import { openSqlite } from '../../src/store/sqlite.ts';
import type { Store } from '../../src/store/store.ts';
import { until } from '../support/clock.ts';
import { startServer } from '../support/server.ts';

function makeDir(t: TestContext): string {
  const dir = path.join(mkdtempSync(path.join(tmpdir(), 'spine-gone-')), 'data');
  t.after(() => rmSync(path.dirname(dir), { recursive: true, force: true }));
  return dir;
}

/** When the folder of the database changed last, in these tests. */
const CHANGED_S = 1_700_000_000.25;
/** The same on a disk whose clock tells whole seconds. */
const COARSE_S = 1_700_000_000;

/** A server's storage, opened as a start opens it, so long after its folder changed. */
async function openBoth(t: TestContext, dir: string, restMs = 3_600_000, changedS = CHANGED_S) {
  const data = openDataDir(dir, { random: () => 'identity' });
  const fatal: Error[] = [];
  const store = openSqlite({
    file: data.dbFile,
    identity: data.identity,
    wallMs: () => changedS * 1_000 + restMs,
    onFatal: (error) => void fatal.push(error),
  });
  t.after(() => store.close());
  t.after(() => data.release());
  const look = data.opened();
  utimesSync(dir, changedS, changedS);
  for (let n = 0; n < 2; n++) await commit(store);
  return { store, fatal, look };
}

const commit = (store: Store): Promise<void> =>
  store.transaction(0, async (tx) => tx.meta.set('kept', 'yes'));

const isUnavailable = (error: unknown): boolean =>
  error instanceof SpineError && error.code === 'store_unavailable';

const inDir =
  (name: string, work: (file: string) => void) =>
  (dir: string): void =>
    work(path.join(dir, name));

const replace = (file: string): void => {
  copyFileSync(file, `${file}.copy`);
  renameSync(`${file}.copy`, file);
};

/** Ways to take the database away from under its server. */
const LOST: Readonly<Record<string, (dir: string) => void>> = {
  'the data dir deleted': (dir) => rmSync(dir, { recursive: true }),
  'the data dir renamed': (dir) => renameSync(dir, `${dir}.old`),
  'the data dir replaced': (dir) => {
    renameSync(dir, `${dir}.old`);
    mkdirSync(dir);
  },
  'the database deleted': inDir('spine.db', rmSync),
  'the database replaced by its own copy': inDir('spine.db', replace),
  'the database moved and an empty file in its place': inDir('spine.db', (file) => {
    renameSync(file, `${file}.moved`);
    writeFileSync(file, '');
  }),
  'the log deleted': inDir('spine.db-wal', rmSync),
};

for (const [what, lose] of Object.entries(LOST)) {
  test(`with ${what}, no further commit is acknowledged, and the server is told why`, async (t) => {
    const dir = makeDir(t);
    const { store, fatal, look } = await openBoth(t, dir);
    strictEqual(look(), null);
    lose(dir);
    for (let n = 0; n < 3; n++) await rejects(commit(store), isUnavailable);
    match(fatal[0]?.message ?? '', /was deleted, moved or replaced under the running server/);
    ok(!fatal[0]?.message.includes('\n'), 'one line');
    match(look()?.message ?? '', /was deleted/);
  });
}

test('a database that was moved behind a link is not written to any more: it could go unseen', async (t) => {
  const dir = makeDir(t);
  const { store } = await openBoth(t, dir);
  const file = path.join(dir, 'spine.db');
  renameSync(file, `${file}.moved`);
  symlinkSync(`${file}.moved`, file);
  await rejects(commit(store), isUnavailable);
});

/** Loses the log within the tick of the change before, as the folder's clock tells it. */
function loseInTheSameTick(dir: string, changedS = CHANGED_S): void {
  rmSync(path.join(dir, 'spine.db-wal'));
  utimesSync(dir, changedS, changedS);
}

test("a loss within the tick of the folder's clock in which it had changed before is seen at once", async (t) => {
  const dir = makeDir(t);
  const { store } = await openBoth(t, dir, 50);
  loseInTheSameTick(dir);
  await rejects(commit(store), isUnavailable);
});

test('so it is where that clock tells whole seconds, and ticks every other', async (t) => {
  const dir = makeDir(t);
  const { store } = await openBoth(t, dir, 1_900, COARSE_S);
  loseInTheSameTick(dir, COARSE_S);
  await rejects(commit(store), isUnavailable);
});

test('a loss that a folder on a slow clock does not show is seen within 16 commits', async (t) => {
  const dir = makeDir(t);
  const { store } = await openBoth(t, dir);
  loseInTheSameTick(dir);
  const ends = [];
  for (let n = 0; n < 16; n++) ends.push(...(await Promise.allSettled([commit(store)])));
  strictEqual(ends.at(-1)?.status, 'rejected');
});

for (const name of ['spine.db-shm', 'spine.lock', 'spine.id', 'blobs']) {
  test(`the look notices that ${name} is gone`, async (t) => {
    const dir = makeDir(t);
    const { look } = await openBoth(t, dir);
    strictEqual(look(), null);
    rmSync(path.join(dir, name), { recursive: true });
    match(look()?.message ?? '', new RegExp(`${name} was deleted`));
  });
}

test('a server whose data dir is deleted acknowledges nothing more and stops with one clear line', async (t) => {
  const dir = makeDir(t);
  const server = await startServer({ dataDir: dir });
  t.after(() => server.stop());
  const create = (n: number) => server.head.post('/jobs', { title: `job ${n}` });
  strictEqual((await create(0)).status, 201);
  rmSync(dir, { recursive: true });
  const answers = await Promise.allSettled(Array.from({ length: 50 }, (_, n) => create(n)));
  const acknowledged = answers.filter((end) => end.status === 'fulfilled' && end.value.status < 300);
  strictEqual(acknowledged.length, 0);
  await until('the server has ended', () => !server.running);
  strictEqual(server.exitCode, 74);
  match(server.output(), /was deleted, moved or replaced under the running server; stopping/);
});

test('a server at rest stops by itself when its lock is deleted: another one could start beside it', async (t) => {
  const dir = makeDir(t);
  const server = await startServer({ dataDir: dir });
  t.after(() => server.stop());
  rmSync(path.join(dir, 'spine.lock'));
  await until('the server has ended', () => !server.running);
  strictEqual(server.exitCode, 74);
  match(server.output(), /spine\.lock was deleted/);
});
