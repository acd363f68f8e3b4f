/** Workers as services: what PM2 and systemd are told. Pure, so that what is printed is what they get. */

import type { Machine } from '../host.ts';

export type Manager = 'pm2' | 'systemd';

/** Longer than a worker waits for its task. */
const STOP_S = 330;
const EXIT_CONFIG = 78;
/** No agent works as root: systemd says so where there is no such account yet. */
const ACCOUNT = 'spine';

export function workerUnit(manager: Manager, slots: readonly string[], machine: Machine): string {
  return manager === 'pm2' ? pm2(slots, machine) : systemd(machine);
}

function pm2(slots: readonly string[], { node, entry, home }: Machine): string {
  const apps = slots.map((slot) => ({
    name: `worker-${slot}`,
    script: entry,
    args: `worker ${slot}`,
    interpreter: node,
    cwd: home,
    autorestart: true,
    max_restarts: 10,
    min_uptime: '10s',
    restart_delay: 5_000,
    kill_timeout: STOP_S * 1_000,
    // It ends its sessions itself; PM2 would signal them too, and the task in hand would fail.
    treekill: false,
    stop_exit_codes: [EXIT_CONFIG],
    env: { NODE_ENV: 'production', SLOT_ID: slot },
  }));
  return `// Start: pm2 start ecosystem.config.cjs\nmodule.exports = ${JSON.stringify({ apps }, null, 2)};\n`;
}

/** A template: the name behind the @ is the slot. */
function systemd({ node, entry, home, user, isRoot }: Machine): string {
  return `# /etc/systemd/system/spine-worker@.service, then: systemctl enable --now spine-worker@slot-1
[Unit]
Description=Spine worker %i
After=network.target
StartLimitIntervalSec=100
StartLimitBurst=10

[Service]
Type=simple
# Sessions are programs of agents: they run as this user, who must be able to read what ExecStart names, and work in this folder or below it.
User=${isRoot ? ACCOUNT : user}
WorkingDirectory=${isRoot ? '~' : path(home)}
ExecStart=${word(node)} ${word(entry)} worker %i
# SPINE_URL, SPINE_TOKEN and what else the worker needs, one NAME=value on a line, readable by you alone.
EnvironmentFile=-/etc/spine/worker.env
EnvironmentFile=-/etc/spine/worker-%i.env
Restart=always
RestartSec=5
RestartPreventExitStatus=${EXIT_CONFIG}
TimeoutStopSec=${STOP_S}
KillMode=mixed

[Install]
WantedBy=multi-user.target
`;
}

function path(text: string): string {
  return text.replaceAll('%', '%%');
}

function word(text: string): string {
  return `"${text
    .replaceAll(/[\\"]/g, '\\$&')
    .replaceAll('%', '%%')
    .replaceAll('$', () => '$$')}"`;
}
