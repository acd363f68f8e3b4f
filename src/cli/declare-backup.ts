/** `spine backup …`, and the same under `openclaw-scheduler`. */

import type { Command } from 'commander';
import { type Act, declare } from './command.ts';

const TO = ['--to <place>', 'a folder or s3://bucket/prefix, instead of what the settings name'] as const;

export function declareBackup(program: Command, act: Act): void {
  const me = program.name();
  const load = async () => await import('./commands/backup.ts');
  const backup = declare(program, 'backup', 'Snapshots of a running installation, and the way back.', [
    [`${me} backup snapshot --to /backups`, 'make one now, in a folder'],
    [`${me} backup restore --from /backups --data-dir ./data`, 'bring the newest one back'],
    [`${me} backup status`, 'the last one, its age, and what went wrong'],
  ]);
  declare(backup, 'snapshot', 'Back up the database, the journal and the artifacts; the server may run.', [
    [`${me} backup snapshot`, 'to where the settings say'],
    [`${me} backup snapshot --to s3://my-bucket/spine`, 'to a bucket'],
  ])
    .option(...TO)
    .action(act(async () => (await load()).snapshot));
  declare(backup, 'rollup', 'Make one that is kept for days, and remove what nothing needs any more.', [
    [`${me} backup rollup`, 'as a server does every hour'],
  ])
    .option(...TO)
    .action(act(async () => (await load()).rollup));
  declare(backup, 'restore', 'Bring the newest good one back. The server must be stopped.', [
    [`${me} backup restore --from /backups --data-dir ./new`, 'into an empty folder'],
    [`${me} backup restore --force`, 'over an installation, which is put aside'],
    [`${me} backup restore 2026-11-17/02-05-33`, 'a certain one'],
  ])
    .argument('[name]', 'which one, as `list` prints it; the newest that is whole unless said')
    .option('--from <place>', 'a folder or s3://bucket/prefix, instead of what the settings name')
    .option('--to <place>', 'the same')
    .option('--force', 'put aside what is in the data dir')
    .action(act(async () => (await load()).restore));
  declare(backup, 'list', 'List the backups, newest first.', [[`${me} backup list`, 'all of them']])
    .alias('ls')
    .option(...TO)
    .action(act(async () => (await load()).list));
  declare(backup, 'status', 'The last backup, its age and size, the next one, and what went wrong.', [
    [`${me} backup status`, 'exits with 1 when something is wrong'],
  ])
    .option(...TO)
    .action(act(async () => (await load()).status));
}
