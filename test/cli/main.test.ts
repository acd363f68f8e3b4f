import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, suite, test } from 'node:test';
import { SETTINGS } from '../../src/config.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { envOf, steersTerminal } from './support.ts';

const root = join(import.meta.dirname, '../..');

function start(entry: string, args: readonly string[], env: Record<string, string> = {}) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, entry), ...args], {
    env: { PATH: process.env['PATH'], ...env },
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}
/** For those that wait, so that they wait together. */
async function started(args: readonly string[], env: Record<string, string>) {
  const child = spawn(process.execPath, [join(root, 'bin/spine.cjs'), ...args], {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  if (child.exitCode === null) await once(child, 'exit');
  return { status: child.exitCode, stdout, stderr };
}

const spine = (args: readonly string[], env?: Record<string, string>) => start('bin/spine.cjs', args, env);

test('spine --version prints the version of the package', () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  assert.deepEqual(spine(['--version']), { status: 0, stdout: `${version}\n`, stderr: '' });
});

test('spine config prints a plain table of every setting when it is piped', () => {
  const { status, stdout } = spine(['config'], { LEASE_SECONDS: '60', HEAD_TOKEN: 'hunter2' });
  assert.equal(status, 0);
  const lines = stdout.trimEnd().split('\n');
  assert.match(lines[0] ?? '', /^setting +value +from$/);
  assert.equal(lines.length, 1 + Object.keys(SETTINGS).length);
  assert.match(stdout, /^LEASE_SECONDS +60 +LEASE_SECONDS$/m);
  assert.match(stdout, /^HEAD_TOKEN +\*{8} +HEAD_TOKEN$/m);
});

test('spine config --json prints JSON', () => {
  const rows = JSON.parse(spine(['config', '--json']).stdout) as unknown[];
  assert.deepEqual(rows[0], { name: 'SPINE_HOST', value: '127.0.0.1', origin: 'default' });
});

for (const command of [['config'], ['serve'], ['rebuild'], ['backup', 'list'], ['status']]) {
  test(`spine ${command[0]} names every wrong setting and exits with 78`, () => {
    assert.deepEqual(spine(command, { LEASE_SECONDS: 'abc', SPINE_PROT: '1' }), {
      status: 78,
      stdout: '',
      stderr:
        'spine: SPINE_PROT is not a setting; did you mean SPINE_PORT?\n' +
        'spine: LEASE_SECONDS=abc is not a whole number of seconds\n',
    });
  });
}

test('openclaw-scheduler speaks in its own name, with the same exit codes', () => {
  const wrong = start('bin/openclaw-scheduler.cjs', ['jobs', 'lst']);
  assert.equal(wrong.status, 2);
  assert.match(
    wrong.stderr,
    /^openclaw-scheduler: Unknown command 'lst'.*See: npx openclaw-scheduler jobs --help\n$/,
  );
  const down = start('bin/openclaw-scheduler.cjs', ['status'], {
    SPINE_URL: 'http://127.0.0.1:1',
    SPINE_TOKEN: 'x',
  });
  assert.equal(down.status, 6);
  assert.match(down.stderr, /^openclaw-scheduler: No Spine server answers/);
});

suite('with a server', () => {
  let server: TestServer;
  let folder = '';
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'spine-cli-'));
    server = await startServer();
  });
  after(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('the server is found by its data dir, and the token by its file', () => {
    writeFileSync(join(server.dataDir, 'tokens.json'), JSON.stringify({ head: server.tokens.head }), {
      mode: 0o600,
    });
    const { status, stdout } = spine(['status', '--data-dir', server.dataDir]);
    rmSync(join(server.dataDir, 'tokens.json'));
    assert.equal(status, 0);
    assert.ok(stdout.includes(server.url));
  });

  test('flags win over the environment, and that over the data dir', () => {
    const good = { SPINE_URL: server.url, SPINE_TOKEN: server.tokens.head };
    assert.equal(spine(['stats'], good).status, 0);
    assert.equal(spine(['stats', '--token', 'wrong'], good).status, 4);
    assert.equal(
      spine(['stats', '--url', server.url, '--token', server.tokens.head], {
        ...envOf(server),
        SPINE_TOKEN: 'wrong',
      }).status,
      0,
    );
    assert.equal(spine(['stats'], { ...envOf(server), SPINE_TOKEN: 'wrong' }).status, 4);
  });

  test('the token of this machine is not sent to another', () => {
    writeFileSync(join(folder, 'tokens.json'), JSON.stringify({ head: server.tokens.head }), { mode: 0o600 });
    const { status, stderr } = spine([
      'stats',
      '--url',
      `http://spine.invalid:${server.port}`,
      '--data-dir',
      folder,
    ]);
    assert.equal(status, 6);
    assert.match(stderr, /^spine: No Spine server answers at http:\/\/spine\.invalid[^\n]*\n$/);
  });

  test('a wrong token is told in one line and exits with 4', () => {
    const { status, stdout, stderr } = spine(['jobs', 'list'], {
      SPINE_URL: server.url,
      SPINE_TOKEN: 'wrong',
    });
    assert.deepEqual({ status, stdout }, { status: 4, stdout: '' });
    assert.match(
      stderr,
      /^spine: The server at \S+ does not accept the token from SPINE_TOKEN for this\. [^\n]+\n$/,
    );
  });

  test('no token is told in one line and exits with 4', () => {
    const { status, stderr } = spine(['jobs', 'list', '--url', server.url, '--data-dir', folder + '/none']);
    assert.equal(status, 4);
    assert.match(stderr, /^spine: No token was found for \S+\. Pass --token, [^\n]+\n$/);
  });

  test('a bad flag is told in one line and exits with 2', () => {
    assert.deepEqual(spine(['jobs', 'list', '--stat', 'x'], envOf(server)), {
      status: 2,
      stdout: '',
      stderr: "spine: Unknown option '--stat' (Did you mean --state?). See: npx spine jobs list --help\n",
    });
  });

  test('backup snapshot and blobs get make the folder that they write into', async () => {
    const place = join(folder, 'new/and/newer');
    assert.equal(spine(['backup', 'snapshot', '--to', place, '--data-dir', server.dataDir]).status, 0);
    assert.equal(statSync(join(folder, 'new')).mode & 0o077, 0);
    assert.ok(existsSync(join(place, 'scheduler/snapshots')));

    writeFileSync(join(folder, 'report.txt'), 'all good');
    const { stdout } = spine(['blobs', 'put', join(folder, 'report.txt'), '--quiet'], envOf(server));
    const file = join(folder, 'files/of/today/report.txt');
    assert.equal(spine(['blobs', 'get', stdout.trim(), '--output', file], envOf(server)).status, 0);
    assert.equal(readFileSync(file, 'utf8'), 'all good');
  });

  test('rebuild is refused while the server runs', () => {
    const { status, stderr } = spine(['rebuild', '--data-dir', server.dataDir]);
    assert.notEqual(status, 0);
    assert.match(stderr, /^spine: [^\n]+\n$/);
  });

  test('the settings of the running server can be read', () => {
    const { status, stdout } = spine(['config', '--server'], envOf(server));
    assert.equal(status, 0);
    assert.match(stdout, /^SPINE_LOG_LEVEL +warn +SPINE_LOG_LEVEL$/m);
  });

  test('files go up and down unchanged', () => {
    const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, index) => (index * 7) % 256));
    const up = join(folder, 'up.bin');
    const down = join(folder, 'down.bin');
    writeFileSync(up, bytes);
    const { stdout } = spine(['blobs', 'put', up, '--quiet'], envOf(server));
    const got = spine(['blobs', 'get', stdout.trim(), '-o', down], envOf(server));
    assert.equal(got.status, 0);
    assert.ok(readFileSync(down).equals(bytes));
    const again = spine(['blobs', 'get', stdout.trim(), '-o', down], envOf(server));
    assert.deepEqual(
      [again.status, again.stderr],
      [2, `spine: ${down} exists already. Name another file, or add --force.\n`],
    );
  });

  test('Ctrl-C ends events tail with 130', async () => {
    const child = spawn(process.execPath, [join(root, 'bin/spine.cjs'), 'events', 'tail'], {
      env: { PATH: process.env['PATH'], ...envOf(server) },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    await once(child.stderr, 'data');
    child.kill('SIGINT');
    const [code] = (await once(child, 'exit')) as [number | null];
    assert.equal(code, 130);
  });

  test('colours follow FORCE_COLOR and NO_COLOR, and --no-color wins', () => {
    const env = envOf(server);
    assert.ok(spine(['config'], { ...env, FORCE_COLOR: '1' }).stdout.startsWith('\x1b[1msetting'));
    assert.ok(!steersTerminal(spine(['config'], { ...env, NO_COLOR: '1' }).stdout));
    assert.ok(!steersTerminal(spine(['config', '--no-color'], { ...env, FORCE_COLOR: '1' }).stdout));
  });

  test('a stopped server is told in one line and exits with 6', async () => {
    await server.kill('SIGTERM');
    const [asJson, doctor, ...plain] = await Promise.all(
      [['status', '--json'], ['doctor'], ['status'], ['events', 'tail'], ['jobs', 'wait', '1']].map((args) =>
        started([...args, '--url', server.url], envOf(server)),
      ),
    );
    for (const { status, stdout, stderr } of plain) {
      assert.deepEqual({ status, stdout }, { status: 6, stdout: '' });
      assert.match(
        stderr,
        /^spine: No Spine server answers at \S+ \(ECONNREFUSED\)\. Start one with: npx spine serve\n$/,
      );
    }
    assert.ok(asJson !== undefined && doctor !== undefined && plain.length === 3);
    assert.equal(asJson.stderr, '');
    const { ok, error, exitCode } = JSON.parse(asJson.stdout) as Record<string, unknown>;
    assert.deepEqual({ ok, error, exitCode }, { ok: false, error: 'unavailable', exitCode: 6 });
    assert.equal(doctor.status, 1);
    assert.match(
      doctor.stdout,
      /^fail {2}server +No Spine server answers [^\n]+\n +Start one with: npx spine serve$/m,
    );
  });
});
