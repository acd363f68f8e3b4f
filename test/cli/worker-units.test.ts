import { deepStrictEqual, match, ok } from 'node:assert';
import { test } from 'node:test';
import { workerUnit } from '../../src/cli/service/worker-units.ts';

const MACHINE = {
  platform: 'linux',
  home: '/home/ann',
  node: '/usr/bin/node',
  entry: '/opt/100% spine/bin/spine.cjs',
  isRoot: false,
  user: 'ann',
};

test('PM2 keeps a worker for each slot, with the limits of the text [WK-31]', () => {
  const text = workerUnit('pm2', ['slot-1', 'slot-2'], MACHINE);
  const { apps } = JSON.parse(text.replace(/^[^]*?module\.exports = /, '').replace(/;\s*$/, '')) as {
    apps: Record<string, unknown>[];
  };
  deepStrictEqual(
    apps.map(({ name, args, autorestart, max_restarts, min_uptime, restart_delay, env }) => [
      name,
      args,
      [autorestart, max_restarts, min_uptime, restart_delay],
      env,
    ]),
    ['slot-1', 'slot-2'].map((slot) => [
      `worker-${slot}`,
      `worker ${slot}`,
      [true, 10, '10s', 5_000],
      { NODE_ENV: 'production', SLOT_ID: slot },
    ]),
  );
});

test('PM2 signals the worker alone, not its sessions, and waits longer than a worker does [WK-27 WK-31]', () => {
  const text = workerUnit('pm2', ['slot-1'], MACHINE);
  match(text, /"treekill": false/);
  ok(Number(/"kill_timeout": (\d+)/.exec(text)?.[1]) > 300_000);
});

test('under systemd sessions work as a user, in a folder of theirs [WK-31]', () => {
  const text = workerUnit('systemd', [], MACHINE);
  match(text, /^User=ann$/m);
  match(text, /^WorkingDirectory=\/home\/ann$/m);
  const byRoot = workerUnit('systemd', [], { ...MACHINE, home: '/root', user: 'root', isRoot: true });
  match(byRoot, /^User=spine$/m);
  match(byRoot, /^WorkingDirectory=~$/m);
});

test('systemd has one template for all slots, and waits longer than a worker does [WK-31]', () => {
  const text = workerUnit('systemd', [], MACHINE);
  match(text, /^ExecStart="\/usr\/bin\/node" "\/opt\/100%% spine\/bin\/spine\.cjs" worker %i$/m);
  match(text, /^Restart=always$/m);
  ok(Number(/^TimeoutStopSec=(\d+)$/m.exec(text)?.[1]) > 300);
});
