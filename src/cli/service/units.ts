/** The server as a service: what systemd, launchd and PM2 are told. Pure, so that what is printed is what is written. */

import { join } from 'node:path/posix';

export interface ServiceFacts {
  /** The Node that runs it, and the file that it runs. */
  readonly node: string;
  readonly entry: string;
  readonly dataDir: string;
  readonly home: string;
  /** Of one user, as opposed to the whole machine. */
  readonly isUser: boolean;
}

export interface Unit {
  readonly file: string;
  readonly text: string;
  /** What is to be done next, as people type it. */
  readonly next: readonly string[];
  /** Tell the manager that the file is there, or that it is about to go: tool and arguments. */
  readonly reload: readonly string[] | null;
  readonly stop: readonly string[] | null;
}

export const MANAGERS = ['systemd', 'launchd', 'pm2'] as const;
export type Manager = (typeof MANAGERS)[number];

/** Stands in every file: one without it was written by somebody else. */
export const MARK = 'Written by: spine service install';
const LABEL = 'ai.openclaw.spine';
/** Longer than a server waits for what is under way. */
const STOP_S = 45;
/** Wrong settings: starting again would change nothing. */
const EXIT_CONFIG = 78;

export function unitFor(manager: Manager, facts: ServiceFacts): Unit {
  return { systemd, launchd, pm2 }[manager](facts);
}

function systemd({ node, entry, dataDir, home, isUser }: ServiceFacts): Unit {
  const scope = isUser ? ['--user'] : [];
  const control = ['systemctl', ...scope].join(' ');
  const text = `# ${MARK}
[Unit]
Description=Spine, a durable job queue and scheduler for AI agents
After=network.target

[Service]
Type=simple
WorkingDirectory=${unitPath(home)}
ExecStart=${unitWord(node)} ${unitWord(entry)} serve
Environment=${unitValue(`SPINE_DATA_DIR=${dataDir}`)}
# Settings of yours, one NAME=value on a line; tokens belong here, readable by you alone.
EnvironmentFile=-${unitPath(join(dataDir, 'spine.env'))}
Restart=always
RestartSec=5
RestartPreventExitStatus=${EXIT_CONFIG}
TimeoutStopSec=${STOP_S}
KillMode=mixed

[Install]
WantedBy=${isUser ? 'default.target' : 'multi-user.target'}
`;
  return {
    file: isUser ? join(home, '.config/systemd/user/spine.service') : '/etc/systemd/system/spine.service',
    text,
    next: [
      `${control} daemon-reload`,
      `${control} enable --now spine`,
      ...(isUser ? ['loginctl enable-linger   # so that it also runs while you are not logged in'] : []),
    ],
    reload: ['systemctl', ...scope, 'daemon-reload'],
    stop: ['systemctl', ...scope, 'disable', '--now', 'spine'],
  };
}

/** In a command systemd also reads variables. */
function unitWord(text: string): string {
  return unitValue(text).replaceAll('$', () => '$$');
}

function unitValue(text: string): string {
  return `"${text.replaceAll(/[\\"]/g, '\\$&').replaceAll('%', '%%')}"`;
}

function unitPath(text: string): string {
  return text.replaceAll('%', '%%');
}

function launchd({ node, entry, dataDir, home, isUser }: ServiceFacts): Unit {
  const file = join(isUser ? home : '/', `Library/Launch${isUser ? 'Agents' : 'Daemons'}/${LABEL}.plist`);
  const log = join(dataDir, 'spine.log');
  const text = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- ${MARK} -->
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${LABEL}</string>
  <key>ProgramArguments</key>
  <array>
${[node, entry, 'serve'].map((word) => `    <string>${xml(word)}</string>`).join('\n')}
  </array>
  <key>WorkingDirectory</key>
  <string>${xml(home)}</string>
  <key>EnvironmentVariables</key>
  <dict>
    <key>SPINE_DATA_DIR</key>
    <string>${xml(dataDir)}</string>
  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <true/>
  <key>ExitTimeOut</key>
  <integer>${STOP_S}</integer>
  <key>StandardOutPath</key>
  <string>${xml(log)}</string>
  <key>StandardErrorPath</key>
  <string>${xml(log)}</string>
</dict>
</plist>
`;
  const shown = /^[\w./-]+$/.test(file) ? file : `'${file}'`;
  return {
    file,
    text,
    next: [`launchctl load -w ${shown}`],
    reload: null,
    stop: ['launchctl', 'unload', '-w', file],
  };
}

function xml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function pm2({ node, entry, dataDir, home }: ServiceFacts): Unit {
  const app = {
    name: 'spine',
    script: entry,
    args: 'serve',
    interpreter: node,
    cwd: home,
    env: { SPINE_DATA_DIR: dataDir },
    kill_timeout: STOP_S * 1_000,
    // It ends its commands and sessions itself; PM2 would signal them too, and they would count as failed.
    treekill: false,
    stop_exit_codes: [EXIT_CONFIG],
  };
  const file = join(dataDir, 'ecosystem.config.cjs');
  return {
    file,
    text: `// ${MARK}\nmodule.exports = ${JSON.stringify({ apps: [app] }, null, 2)};\n`,
    next: [`pm2 start ${file}`, 'pm2 save'],
    reload: null,
    stop: ['pm2', 'delete', 'spine'],
  };
}
