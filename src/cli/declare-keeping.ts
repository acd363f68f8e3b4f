/** `spine apply`, `spine import`, `spine service …`: schedules in files, from elsewhere, and the server as a service. */

import { type Command, Option } from 'commander';
import { type Act, declare } from './command.ts';

export function declareKeeping(program: Command, act: Act): void {
  declare(
    program,
    'apply',
    'Make schedules, types and pools as files say; what is as they say stays untouched.',
    [
      ['spine apply -f schedules/ --dry-run', 'what would change'],
      ['spine apply -f schedules/', 'do it: all of it, or nothing when one is wrong'],
      ['spine apply -f schedules/ --prune', 'and delete what it made before and is not there any more'],
    ],
  )
    .requiredOption(
      '-f, --file <path>',
      'a .yaml, .yml or .json file, or a folder of them; - for standard input',
    )
    .option('--name <name>', 'what this set is called; as its folder or file unless said')
    .option('--prune', 'delete schedules that this set made and does not hold any more')
    .option('--dry-run', 'show the difference, and change nothing')
    .option('-y, --yes', 'do not ask before deleting')
    .action(act(async () => (await import('./commands/apply.ts')).apply));
  declare(program, 'import', 'Bring schedules from another program; the file is only read.', [
    ['spine import ~/.openclaw/cron/jobs.json --dry-run', "what would come of OpenClaw's cron jobs"],
    [
      'spine import ~/.openclaw/scheduler/scheduler.db',
      "a scheduler's database; a second time makes nothing twice",
    ],
    ['crontab -l > mine && spine import mine', 'a crontab, as shell schedules (needs SPINE_SHELL=on)'],
  ])
    .argument('<file>', "OpenClaw's cron/jobs.json, a scheduler's SQLite database, or a crontab")
    .option('--dry-run', 'show what would be made, and make nothing')
    .action(act(async () => (await import('./commands/import.ts')).importSchedules));
  declareService(program, act);
}

function declareService(program: Command, act: Act): void {
  const service = declare(program, 'service', 'The server as a service of this machine.', [
    ['spine service install --dry-run', 'print the unit'],
    ['spine service install --user', 'for you alone, without root'],
  ]);
  const load = async () => await import('./commands/service.ts');
  withManager(
    declare(service, 'install', 'Write the unit of the server, and say what to do next.', [
      ['spine service install --dry-run', 'print it, and write nothing'],
      ['spine service install --user', 'for you alone, without root'],
      ['spine service install --for pm2', 'an ecosystem file for PM2'],
    ]),
    'print what would be written',
  ).action(act(async () => (await load()).install));
  withManager(
    declare(service, 'uninstall', 'Stop the service and remove its unit; the data stays.', [
      ['spine service uninstall --user', 'the one for you alone'],
    ]),
    'say what would be removed',
  ).action(act(async () => (await load()).uninstall));
}

function withManager(command: Command, dryRun: string): Command {
  return command
    .addOption(
      new Option('--for <manager>', 'who runs it; the one of this machine unless said').choices([
        'systemd',
        'launchd',
        'pm2',
      ]),
    )
    .option('--user', 'of this user, as opposed to the whole machine; unless you are root, always')
    .option('--dry-run', dryRun);
}
