import { match, ok, strictEqual, throws } from 'node:assert';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type DataDir, DataDirError, openDataDir, openForRebuild } from '../../src/store/datadir.ts';
import { openSqlite } from '../../src/store/sqlite.ts';
import { copyDatabase } from '../../src/store/sqlite-copy.ts';

const MODULE = fileURLToPath(new URL('../../src/store/datadir.ts', import.meta.url));
const STORE = fileURLToPath(new URL('../../src/store/sqlite.ts', import.meta.url));

function makeDir(t: TestContext): string {
  const dir = path.join(mkdtempSync(path.join(tmpdir(), 'spine-dir-')), 'data');
  t.after(() => rmSync(path.dirname(dir), { recursive: true, force: true }));
  return dir;
}

let made = 0;
const random = (): string => `identity-${++made}`;

/** Starts and stops a server's storage once, in good order. */
async function startOnce(dir: string): Promise<DataDir> {
  const data = openDataDir(dir, { random });
  const store = openSqlite({ file: data.dbFile, identity: data.identity });
  data.opened();
  data.closing();
  await store.close();
  data.release();
  return data;
}

function refused(dir: string, what: RegExp): void {
  throws(
    () => openDataDir(dir, { random }),
    (error) => {
      ok(error instanceof DataDirError, String(error));
      strictEqual(error.exitCode, 78);
      match(error.message, what);
      ok(!error.message.includes('\n'), 'one line');
      return true;
    },
  );
}

test('a new data dir is private and has its folders; a second start finds the same installation [SP-06]', async (t) => {
  const dir = makeDir(t);
  const old = process.umask(0);
  t.after(() => process.umask(old));
  const first = await startOnce(dir);
  ok(first.isNew);
  for (const folder of ['.', 'jobs', 'events', 'blobs', 'journal'])
    strictEqual(statSync(path.join(dir, folder)).mode & 0o777, 0o700, folder);
  for (const file of ['spine.db', 'spine.id', 'spine.lock'])
    strictEqual(statSync(path.join(dir, file)).mode & 0o777, 0o600, file);
  const second = await startOnce(dir);
  strictEqual(second.isNew, false);
  strictEqual(second.identity, first.identity);
});

test('a missing, empty, cut off or foreign database is refused with one line, never started empty', async (t) => {
  const dir = makeDir(t);
  await startOnce(dir);
  const db = path.join(dir, 'spine.db');
  const whole = readFileSync(db);
  const put = (bytes: Uint8Array): void => writeFileSync(db, bytes);

  rmSync(db);
  refused(
    dir,
    /spine\.db is missing, but .*spine\.id says a database was here\. Restore it from a backup \(spine backup restore\), or run `spine rebuild`\.$/,
  );
  put(Buffer.alloc(0));
  refused(dir, /is empty, but/);
  put(whole.subarray(0, 1));
  refused(dir, /is not a SQLite database/);
  for (const part of [0.25, 0.5, 0.999]) {
    put(whole.subarray(0, Math.floor(whole.length * part)));
    refused(dir, /is cut off/);
  }
  put(Buffer.alloc(whole.length, 'text, not pages '));
  refused(dir, /is not a SQLite database/);
  const damaged = Buffer.from(whole);
  damaged.fill(0xff, 4096, 3 * 4096);
  put(damaged);
  refused(dir, /is damaged/);
  rmSync(db);
  new DatabaseSync(db).exec('create table notes (text)');
  refused(dir, /is not a database of Spine/);
  rmSync(db);
  symlinkSync('/nowhere/spine.db', db);
  refused(dir, /is not a plain file/);
  rmSync(db);
  put(whole);
  strictEqual((await startOnce(dir)).isNew, false);
});

test('a database of another installation is refused', async (t) => {
  const dir = makeDir(t);
  const other = makeDir(t);
  await startOnce(dir);
  await startOnce(other);
  copyFileSync(path.join(other, 'spine.db'), path.join(dir, 'spine.db'));
  refused(dir, /belongs to another installation/);
});

test('a database without its identity file is adopted when it is one of Spine, refused when it is not', async (t) => {
  const dir = makeDir(t);
  const first = await startOnce(dir);
  rmSync(path.join(dir, 'spine.id'));
  const second = await startOnce(dir);
  strictEqual(second.identity, first.identity);
  strictEqual(readFileSync(path.join(dir, 'spine.id'), 'utf8').trim(), first.identity);
  rmSync(path.join(dir, 'spine.id'));
  rmSync(path.join(dir, 'spine.db'));
  new DatabaseSync(path.join(dir, 'spine.db')).exec('create table notes (text)');
  refused(dir, /is not a database of Spine/);
});

test('a first start that was killed half-way is simply begun again', async (t) => {
  const dir = makeDir(t);
  openDataDir(dir, { random }).release();
  strictEqual(statSync(path.join(dir, 'spine.db')).size, 0);
  const database = new DatabaseSync(path.join(dir, 'spine.db'));
  database.exec('pragma journal_mode = wal');
  database.close();
  ok((await startOnce(dir)).isNew);
});

test('after a kill the log is needed: without it the start is refused, with it nothing is missing', async (t) => {
  const dir = makeDir(t);
  const script = `
    import { openDataDir } from ${JSON.stringify(MODULE)};
    import { openSqlite } from ${JSON.stringify(STORE)};
    const data = openDataDir(process.argv[1], { random: () => 'killed' });
    const store = openSqlite({ file: data.dbFile, identity: data.identity });
    data.opened();
    await store.transaction(0, async (tx) => tx.meta.set('last', 'write'));
    process.kill(process.pid, 'SIGKILL');`;
  throws(
    () => execFileSync(process.execPath, ['--input-type=module', '-e', script, dir], { stdio: 'ignore' }),
    { signal: 'SIGKILL' },
  );
  const log = path.join(dir, 'spine.db-wal');
  const bytes = readFileSync(log);
  rmSync(log);
  refused(dir, /spine\.db-wal is missing, but the last server did not stop in good order/);
  writeFileSync(log, bytes);
  // A backup over the database that the log belongs to must not get that log's pages.
  const database = path.join(dir, 'spine.db');
  await copyDatabase(database, `${database}.backup`);
  const killed = readFileSync(database);
  copyFileSync(`${database}.backup`, database);
  refused(dir, /spine\.db is a backup, but .*spine\.db-wal beside it belongs to the database before/);
  writeFileSync(database, killed);
  const data = openDataDir(dir, { random });
  const store = openSqlite({ file: data.dbFile, identity: data.identity });
  strictEqual(await store.read.meta.get('last'), 'write');
  await store.close();
  data.release();
});

test("a second server on the same data dir is refused and told the first one's process; the lock dies with its holder", async (t) => {
  const dir = makeDir(t);
  const script = `
    import { openDataDir } from ${JSON.stringify(MODULE)};
    openDataDir(process.argv[1], { random: () => 'first' });
    // A lock that only a forgotten object holds would go with it.
    globalThis.gc();
    console.log('held');
    setInterval(() => {}, 1000);`;
  const holder = spawn(process.execPath, ['--expose-gc', '--input-type=module', '-e', script, dir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => holder.kill('SIGKILL'));
  await once(holder.stdout, 'data');
  refused(dir, new RegExp(`process ${holder.pid}\\) uses this data dir`));
  holder.kill('SIGKILL');
  await once(holder, 'exit');
  const data = openDataDir(dir, { random });
  refused(dir, new RegExp(`process ${process.pid}\\)`));
  data.release();
  openDataDir(dir, { random }).release();
});

test('a dir that everybody may write, or a link of somebody else, is refused', (t) => {
  const dir = makeDir(t);
  mkdirSync(dir);
  chmodSync(dir, 0o777);
  refused(dir, /can be written by everybody/);
  chmodSync(dir, 0o755);
  openDataDir(dir, { random }).release();
  strictEqual(statSync(dir).mode & 0o777, 0o700);
  const link = `${dir}-link`;
  symlinkSync(dir, link);
  openDataDir(link, { random }).release();
  if (process.getuid?.() !== 0) return;
  execFileSync('chown', ['-h', '65534', link]);
  refused(link, /is a link of or to somebody else/);
});

test('a rebuild puts its database in place and keeps the old one; a killed one asks to be run again', async (t) => {
  const dir = makeDir(t);
  const first = await startOnce(dir);
  truncateSync(path.join(dir, 'spine.db'), 5_000);
  refused(dir, /is cut off/);
  const rebuild = openForRebuild(dir, { random, identity: null });
  strictEqual(rebuild.identity, first.identity);
  const store = openSqlite({ file: rebuild.dbFile, identity: rebuild.identity });
  await store.close();
  strictEqual(rebuild.commit(), path.join(dir, 'spine.db.before-rebuild-1'));
  rebuild.release();
  strictEqual(statSync(path.join(dir, 'spine.db.before-rebuild-1')).size, 5_000);
  strictEqual((await startOnce(dir)).identity, first.identity);
  appendFileSync(path.join(dir, 'spine.rebuilding'), '');
  refused(dir, /A rebuild of .* did not finish\. Run `spine rebuild` again\./);
  ok(existsSync(path.join(dir, 'spine.db')));
});
