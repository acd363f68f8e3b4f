import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { SETTINGS } from '../../src/config.ts';

const root = join(import.meta.dirname, '../..');

function start(entry: string, args: readonly string[], env: Record<string, string> = {}) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, entry), ...args], {
    env: { PATH: process.env['PATH'], ...env },
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}
const spine = (args: readonly string[], env?: Record<string, string>) => start('src/main.ts', args, env);

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

for (const command of [['config'], ['serve'], ['rebuild'], ['backup', 'x']]) {
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

test('openclaw-scheduler says that its commands are not here yet', () => {
  const { status, stdout, stderr } = start('bin/openclaw-scheduler.cjs', ['status']);
  assert.equal(status, 2);
  assert.equal(stdout, '');
  assert.match(stderr, /^openclaw-scheduler: [^\n]+\n$/);
});
