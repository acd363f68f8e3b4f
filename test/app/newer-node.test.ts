import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';

const REPO = join(import.meta.dirname, '../..');

/** npm itself runs on the machine's own Node; where that is new enough there is nothing to find. */
const OLD_NODE = process.env['npm_node_execpath'] ?? 'node';
const VERSION = spawnSync(OLD_NODE, ['--version'], { encoding: 'utf8' }).stdout.trim();
const skip =
  /^v(20|22)\./.test(VERSION) && process.platform === 'linux' ? false : `npm runs on Node ${VERSION} here`;

interface Started {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface Machine {
  readonly home: string;
  readonly folder: string;
  readonly start: (env?: Readonly<Record<string, string>>) => Promise<Started>;
}

/** An installed package whose program tells which Node runs it, on a machine with nothing but an old Node. */
function machine(t: TestContext): Machine {
  const folder = mkdtempSync(join(tmpdir(), 'spine-newer-node-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const home = join(folder, 'home');
  mkdirSync(home);
  cpSync(join(REPO, 'bin'), join(folder, 'package/bin'), { recursive: true });
  mkdirSync(join(folder, 'package/dist'));
  writeFileSync(join(folder, 'package/dist/main.js'), 'console.log(process.version, process.execPath);');
  return { home, folder, start };

  async function start(env: Readonly<Record<string, string>> = {}): Promise<Started> {
    const child = spawn(OLD_NODE, [join(folder, 'package/bin/spine.cjs')], {
      cwd: folder,
      env: {
        HOME: home,
        PATH: join(folder, 'nothing'),
        npm_config_registry: 'http://127.0.0.1:9',
        npm_config_fetch_retries: '0',
        npm_config_update_notifier: 'false',
        ...env,
      },
    });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk));
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
    await once(child, 'close');
    return { status: child.exitCode, stdout, stderr };
  }
}

/** Says its version and runs what it is given, as the real one. */
const STAND_IN = `#!/bin/sh\nexec '${process.execPath}' "$@"\n`;

interface Registry {
  readonly url: string;
  readonly asked: () => number;
}

/** A registry that has the package of this platform, with the binary given. */
async function registry(t: TestContext, folder: string, binary: string): Promise<Registry> {
  const [spec = ''] = Object.keys(sumsIn(folder)).filter((one) =>
    one.startsWith(`node-linux-${process.arch}@`),
  );
  const [name = '', version = ''] = spec.split('@');
  const source = join(folder, 'published');
  mkdirSync(join(source, 'package/bin'), { recursive: true });
  const manifest = { name, version, bin: { node: 'bin/node' } };
  writeFileSync(join(source, 'package/package.json'), JSON.stringify(manifest));
  writeFileSync(join(source, 'package/bin/node'), binary, { mode: 0o755 });
  const tarball = spawnSync('tar', ['cz', 'package'], { cwd: source }).stdout;
  const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
  let asked = 0;
  const server = createServer((request, response) => {
    asked++;
    if (request.url?.endsWith('.tgz')) return void response.end(tarball);
    const dist = { tarball: `${url}/${name}/-/${name}-${version}.tgz`, integrity };
    const versions = { [version]: { ...manifest, dist } };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ name, 'dist-tags': { latest: version }, versions }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, asked: () => asked };
}

function sumsIn(folder: string): Record<string, string> {
  return JSON.parse(readFileSync(join(folder, 'package/bin/node-sums.json'), 'utf8')) as Record<
    string,
    string
  >;
}

test('on an old Node the program runs on a newer one of the PATH', { skip }, async (t) => {
  const { folder, start } = machine(t);
  const places = ['old', 'new'].map((name) => join(folder, name));
  for (const place of places) mkdirSync(place);
  symlinkSync(OLD_NODE, join(folder, 'old/node'));
  symlinkSync(process.execPath, join(folder, 'new/node'));
  const { stdout, stderr, status } = await start({ PATH: places.join(':') });
  assert.equal(stdout, `${process.version} ${process.execPath}\n`, stderr);
  assert.equal(stderr, '');
  assert.equal(status, 0);
});

test('on an old Node the program runs on a newer one that a version manager keeps', { skip }, async (t) => {
  const { home, start } = machine(t);
  const bin = join(home, `.nvm/versions/node/${process.version}/bin`);
  mkdirSync(bin, { recursive: true });
  mkdirSync(join(home, '.nvm/versions/node/v18.1.0/bin'), { recursive: true });
  symlinkSync(process.execPath, join(bin, 'node'));
  const { stdout, stderr } = await start();
  assert.equal(stdout, `${process.version} ${process.execPath}\n`, stderr);
});

test('where there is no newer Node the tested one is fetched, once, and kept out of every project', {
  skip,
}, async (t) => {
  const { home, folder, start } = machine(t);
  const { url, asked } = await registry(t, folder, STAND_IN);
  const sums = sumsIn(folder);
  const sum = createHash('sha256').update(STAND_IN).digest('hex');
  writeFileSync(
    join(folder, 'package/bin/node-sums.json'),
    JSON.stringify(Object.fromEntries(Object.keys(sums).map((spec) => [spec, sum]))),
  );
  const first = await start({ npm_config_registry: url });
  assert.match(first.stdout, new RegExp(`^${process.version} `), first.stderr);
  assert.match(
    first.stderr,
    /^spine needs a newer Node than this v2\d\.\S+\. Fetching node-linux-\S+ from npm, once, into \S+ \.\.\.\n$/,
  );
  const requests = asked();
  assert.ok(requests > 0);
  const second = await start({ npm_config_registry: url });
  assert.equal(second.stdout, first.stdout);
  assert.equal(second.stderr, '');
  assert.equal(asked(), requests);
  assert.deepEqual(readdirSync(folder).toSorted(), ['home', 'package', 'published']);
  const kept = join(home, '.local/share/openclaw-spine');
  assert.equal(readdirSync(kept).length, 1, 'nothing but the one is left');
});

test('a fetched Node that is not the tested one is never started', { skip }, async (t) => {
  const { home, folder, start } = machine(t);
  const { url } = await registry(t, folder, `#!/bin/sh\ntouch '${folder}/started'\n`);
  const { status, stdout, stderr } = await start({ npm_config_registry: url });
  assert.equal(status, 78);
  assert.equal(stdout, '');
  assert.match(stderr, /is not the one that was tested: its SHA-256 is [0-9a-f]{64}\.\nInstall one, /);
  assert.equal(existsSync(join(folder, 'started')), false);
  assert.deepEqual(readdirSync(join(home, '.local/share/openclaw-spine')), []);
});

test('without a newer Node and without a registry the start says what to do', { skip }, async (t) => {
  const { home, start } = machine(t);
  const { status, stderr } = await start();
  assert.equal(status, 78);
  assert.match(
    stderr,
    /\nspine needs Node 24 from 24\.15 on, or 26\.1 or newer\. This is v2\d\.\S+; none was found, and npm could not fetch node-linux-\S+ \(.+\)\.\nInstall one, from https:\/\/nodejs\.org or with a version manager, and put it on the PATH: spine finds it there\.\n$/,
  );
  rmSync(home, { recursive: true });
  writeFileSync(home, 'no folder');
  assert.equal((await start()).status, 78);
});

test('a program of the PATH that is no Node is passed over', { skip }, async (t) => {
  const { folder, start } = machine(t);
  const bin = join(folder, 'strange');
  mkdirSync(bin);
  writeFileSync(join(bin, 'node'), '#!/bin/sh\necho hello\n');
  chmodSync(join(bin, 'node'), 0o755);
  const { status } = await start({ PATH: bin });
  assert.equal(status, 78);
});
