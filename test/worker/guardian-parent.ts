/** Has a guardian look after a program that does not stay in its group, says its number, and waits to be killed. */

import { systemPlatform } from '../../src/client/platform.ts';
import { GuardedProgram } from '../../src/worker/sessions/guardian.ts';

const program = new GuardedProgram(systemPlatform, {
  command: ['/bin/sh', '-c', 'setsid sh -c "echo begun; exec sleep 600" & sleep 600 & sleep 600'],
  cwd: '/',
  env: { PATH: process.env['PATH'] ?? '', SPINE_SESSION_ID: process.argv[2] ?? '' },
  input: '',
  silenceMs: 600_000,
  onOutput: () => void process.stdout.write(`${program.pid}\n`),
});
