import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, existsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { loadConfig } from '../../src/config.ts';
import { unitFor } from '../../src/cli/service/units.ts';
import { startServer } from '../support/server.ts';
import { type RunOptions, spine, words } from './support.ts';
import { golden } from './transcript.ts';

let home = '';
before(() => {
  home = mkdtempSync(join(tmpdir(), 'spine-'));
});
after(() => rmSync(home, { recursive: true, force: true }));

const env = { SPINE_DATA_DIR: '/var/lib/spine' };

test('the units of systemd, launchd and PM2 read as in their golden file [SC-19]', async (t) => {
  let text = '';
  for (const [line, machine] of [
    ['service install --dry-run', {}],
    ['service install --dry-run', { isRoot: true }],
    ['service install --dry-run --user', { isRoot: true, home: '/root' }],
    ['service install --dry-run', { platform: 'darwin', home: '/Users/ann' }],
    ['service install --dry-run --for pm2', {}],
    ['service install --dry-run', { platform: 'win32' }],
    ['service install --dry-run --json', { platform: 'darwin', home: '/Users/ann' }],
  ] as const) {
    const { code, stdout, stderr } = await spine(words(line), { env, machine });
    text += `$ spine ${line}   # ${JSON.stringify(machine)}\n${stdout}${stderr.replace(/^/gm, '! ').replace(/! $/, '')}`;
    text += code === 0 ? '\n' : `[exit code ${code}]\n\n`;
  }
  golden(t, 'service', text);
});

test('a unit is written once, the manager is told of it, and uninstalling takes it away [SC-19]', async () => {
  const told: string[] = [];
  const options: RunOptions = {
    env,
    machine: { home },
    runTool: (tool, args) => {
      told.push([tool, ...args].join(' '));
      return 0;
    },
  };
  const file = join(home, '.config/systemd/user/spine.service');
  const first = await spine(['service', 'install', '--user'], options);
  assert.equal(first.code, 0, first.stderr);
  assert.match(first.stdout, /spine\.service is written\.\nNext:\n {2}systemctl --user daemon-reload/);
  const again = await spine(['service', 'install', '--user'], options);
  assert.match(again.stdout, /is as it should be/);
  assert.deepEqual(told, ['systemctl --user daemon-reload']);
  const gone = await spine(['service', 'uninstall', '--user'], options);
  assert.equal(gone.code, 0, gone.stderr);
  assert.deepEqual(told.slice(1), ['systemctl --user disable --now spine', 'systemctl --user daemon-reload']);
  assert.equal(existsSync(file), false);
  assert.equal((await spine(['service', 'uninstall', '--user'], options)).code, 3);
});

test('a unit that somebody else wrote is left alone, and a place that cannot be written is named', async () => {
  const folder = join(home, 'other/.config/systemd/user');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'spine.service'), '[Service]\n');
  const taken = { env, machine: { home: join(home, 'other') } };
  for (const verb of ['install', 'uninstall'])
    assert.equal((await spine(['service', verb], taken)).code, 5, verb);
  assert.equal(readFileSync(join(folder, 'spine.service'), 'utf8'), '[Service]\n');
  writeFileSync(join(home, 'file'), '');
  const { code, stderr } = await spine(['service', 'install'], {
    env,
    machine: { home: join(home, 'file') },
  });
  assert.equal(code, 1);
  assert.match(stderr, /cannot be written \(ENOTDIR\)/);
});

test('odd names in paths are quoted as systemd reads them', () => {
  const facts = { node: '/n "x"', entry: '/50%/$HOME\\s.cjs', dataDir: '/d', home: '/h', isUser: true };
  const { text } = unitFor('systemd', facts);
  assert.match(text, /^ExecStart="\/n \\"x\\"" "\/50%%\/\$\$HOME\\\\s\.cjs" serve$/m);
  assert.match(unitFor('launchd', { ...facts, node: '/a&<b>' }).text, /<string>\/a&amp;&lt;b&gt;<\/string>/);
});

test('the loops of a server go by the variables of the text [SC-02 SC-90]', async () => {
  const said = {
    SCHEDULER_TICK_MS: '1234',
    SCHEDULER_MESSAGE_DELIVERY_MS: '2345',
    SCHEDULER_PRUNE_MS: '3456',
  };
  await using server = await startServer({ env: said });
  const { body } = await server.head.get<{ loops: { name: string; everyMs: number }[] }>('/health/details');
  const every = Object.fromEntries(body.loops.map(({ name, everyMs }) => [name, everyMs]));
  assert.deepEqual(
    [every['scheduler'], every['approvals'], every['spawner'], every['mail'], every['pruner']],
    [1_234, 1_234, 2_345, 2_345, 3_456],
  );
});

test("the text's variables are settings; and what nobody sets is as the text says [SC-90]", () => {
  const { tickMs, staleThresholdS, heartbeatCheckMs, messageDeliveryMs, pruneMs, logLevel } = loadConfig({});
  assert.deepEqual(
    [tickMs, staleThresholdS, heartbeatCheckMs, messageDeliveryMs, pruneMs, logLevel],
    [10_000, 90, 30_000, 15_000, 3_600_000, 'info'],
  );
  const said = loadConfig({
    SCHEDULER_MESSAGE_DELIVERY_MS: '5000',
    SCHEDULER_PRUNE_MS: '60000',
    SCHEDULER_DEBUG: 'yes please',
  });
  assert.deepEqual([said.messageDeliveryMs, said.pruneMs, said.logLevel], [5_000, 60_000, 'debug']);
});
