/** The path of a stranger through README.md, as printed there: in a clone and with the package, on the Nodes that people have. */

import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { suite, test, type TestContext } from 'node:test';
import { cloneWithoutPackages } from './clone.ts';
import { installed, INSTALLED_WITHIN_MS } from './installed.ts';
import { packed } from './package.ts';
import { freshDatabase, skipWithoutPostgres } from './postgres.ts';
import { blockOf, type Reader, reader, type Running } from './reader.ts';
import { freePort } from './server.ts';

const PAGE = 'README.md';
const nodes = await installed('nodes');

/** Why nobody can walk here, or false. */
const skipWithoutNodes: string | false = 'missing' in nodes ? nodes.missing : false;
const npmCli = process.env['npm_execpath'] ?? '';

/** The binary of a line; the tests run on that of 24. */
function binaryOf(line: string): string {
  if (line === '24') return process.execPath;
  return 'modules' in nodes ? join(nodes.modules, `node-${line}-linux-x64/bin/node`) : '';
}

export function firstHour(lines: readonly string[]): void {
  void suite('a stranger who types what README.md prints', { skip: skipWithoutNodes }, () => walks(lines));
}

function walks(lines: readonly string[]): void {
  for (const line of lines) {
    const binary = binaryOf(line);
    const options = {
      timeout: INSTALLED_WITHIN_MS,
      skip: existsSync(binary) ? false : `no Node ${line} for this platform`,
    };
    void test(
      `in a clone on Node ${line} has a job done, and finds it after a restart`,
      options,
      async (t) => {
        const folder = cloneWithoutPackages();
        t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
        await walk(t, { folder, home: newHome(t), binary, start: blockOf(PAGE, 'npm ci && npm start') });
      },
    );
  }

  void test('with the package does the same, and then has two servers on PostgreSQL', {
    timeout: INSTALLED_WITHIN_MS,
    skip: skipWithoutPostgres,
  }, async (t) => {
    const { file, remove } = packed();
    t.after(remove);
    await walkWithPackage(t, file, lines);
  });
}

/** On Nodes that are there. */
async function walkWithPackage(t: TestContext, file: string, lines: readonly string[]): Promise<void> {
  // The Node that the first one has fetched is found by the second.
  const home = newHome(t);
  for (const line of lines) {
    await t.test(`Node ${line}`, { timeout: INSTALLED_WITHIN_MS }, async (one) => {
      const folder = mkdtempSync(join(tmpdir(), 'spine-project-'));
      one.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
      copyFileSync(file, join(folder, basename(file)));
      const stranger = await walk(one, {
        folder,
        home,
        binary: binaryOf(line),
        start: blockOf(PAGE, 'npm install ./'),
      });
      if (line === lines[0]) await grow(one, stranger);
    });
  }
}

interface Stranger {
  readonly folder: string;
  readonly home: string;
  readonly binary: string;
  /** Installs Spine and starts the server. */
  readonly start: string;
}

/** Serve, create, work by hand and by a program, wait, look at logs and numbers, start again. */
async function walk(t: TestContext, { folder, home, binary, start }: Stranger): Promise<Reader> {
  const port = await freePort();
  const at = reader(t, { folder, env: machine(home, binary, port), port });
  const server = at.begin(start);
  await at.says('the server', server, /Create a job:\n.+\n/);
  assert.doesNotMatch(server.output(), /npm (warn|error)|deprecated|Warning/i);
  // What the server itself prints works as it is printed.
  const [, create = ''] = /^Create a job:\n {2}(.*)$/m.exec(server.output()) ?? [];
  const [second, third] = [at.terminal(), at.terminal()];
  assert.match(second.run(create), /#1\b/);
  const byHand = second.run(blockOf(PAGE, 'npx spine jobs claim'));
  assert.match(byHand, /#1 completed \(done\)[^]*result +It's done/);

  writeFileSync(join(folder, 'worker.mjs'), blockOf(PAGE, 'import { SpineClient, Worker }'));
  const worker = second.begin(blockOf(PAGE, 'export SPINE_BASE_URL'));
  const said = third.run(blockOf(PAGE, 'npx spine jobs add'));
  assert.match(said, /#2 [^]*done[^]*Somebody is to greet Ann\n/);
  assert.match(said, /^spine_jobs_completed_total 2$/m);

  await server.end();
  const [, again = ''] = start.split(' && ');
  const restarted = at.begin(again);
  await at.says('the server', restarted, /Spine is ready at/);
  assert.match(third.run('npx spine jobs get 2'), /Hello Ann/);
  assert.match(third.run(`npx spine jobs add --type greet --params '{"name":"Bob"}' --wait`), /#3 [^]*done/);
  assert.doesNotMatch(`${worker.output()}${restarted.output()}`, /warning/i);
  await worker.end();
  // Whoever stops the worker is who they were before it.
  assert.match(second.run('npx spine jobs add "One more"'), /#4\b/);
  await restarted.end();
  return at;
}

/** The last lines of the page: each server has a terminal of its own. */
async function grow(t: TestContext, at: Reader): Promise<void> {
  const { url, drop } = await freshDatabase(process.env['TEST_POSTGRES_URL'] ?? '');
  t.after(drop);
  const port = await freePort();
  // The reader's own database, and a port that is free here.
  const own = (block: string): string =>
    block.replace('postgres://user@host/spine', `'${url}'`).replaceAll('36726', String(port));
  const servers: Running[] = [];
  for (const beginning of ['export DATABASE_URL', '# in another terminal']) {
    const server = at.begin(own(blockOf(PAGE, beginning)));
    await at.says('the server', server, /Spine is ready at/);
    servers.push(server);
  }
  const worker = blockOf(PAGE, 'import { SpineClient, Worker }');
  at.run(own(blockOf(PAGE, 'export SPINE_DATA_DIR=')));
  assert.equal(at.run('cat copy.mjs'), worker);
  at.run('npx spine --data-dir one jobs add "Told to the first"');
  const second = `npx spine --data-dir one --url http://127.0.0.1:${port}`;
  assert.match(at.run(`${second} jobs list`), /Told to the first/);
  for (const server of servers) await server.end();
}

function newHome(t: TestContext): string {
  const home = mkdtempSync(join(tmpdir(), 'spine-home-'));
  t.after(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }));
  return home;
}

/** How this machine reaches its registry: where the certificates and npm's settings for all users are. */
const REACHES_REGISTRY = ['NODE_EXTRA_CA_CERTS', 'npm_config_globalconfig', 'npm_config_registry'];

/** What this user has: a home, one Node, and its npm. */
function machine(home: string, binary: string, port: number): Readonly<Record<string, string>> {
  const bin = mkdtempSync(join(home, 'bin-'));
  symlinkSync(binary, join(bin, 'node'));
  for (const name of ['npm', 'npx']) symlinkSync(join(dirname(npmCli), `${name}-cli.js`), join(bin, name));
  const reached: Record<string, string> = {};
  for (const name of REACHES_REGISTRY) {
    const value = process.env[name];
    if (value !== undefined) reached[name] = value;
  }
  return {
    ...reached,
    PATH: `${bin}:/usr/bin:/bin`,
    HOME: home,
    SPINE_PORT: String(port),
    npm_config_cache: process.env['npm_config_cache'] ?? join(home, '.npm'),
    npm_config_prefer_offline: 'true',
    npm_config_update_notifier: 'false',
  };
}
