/** All commands of `spine`. */

import { Command, Option } from 'commander';
import { type Act, withExamples } from './command.ts';
import { declareAdmin } from './declare-admin.ts';
import { declareForAgents } from './declare-agents.ts';
import { declareBackup } from './declare-backup.ts';
import { declareDelivery } from './declare-delivery.ts';
import { declareKeeping } from './declare-keeping.ts';
import { declareJobs } from './declare-jobs.ts';
import { declareQuestions } from './declare-questions.ts';
import { declareMail } from './declare-mail.ts';
import { declareScheduler } from './declare-scheduler.ts';
import { declareCare, declareRunning, declareWatching, declareWhoami } from './declare-server.ts';
import { declareUsage } from './declare-usage.ts';
import { declareUsers } from './declare-users.ts';
import { declareWorkers } from './declare-workers.ts';
import { EXIT_MEANINGS } from './failure.ts';

export function buildProgram(act: Act, version: string): Command {
  const program = new Command('spine')
    .description('A durable job queue for AI agents.')
    .version(version, '-v, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command');
  addGlobalOptions(program);
  declareRunning(program, act);
  declareWorkers(program, act);
  declareJobs(program, act);
  declareQuestions(program, act);
  declareScheduler(program, act);
  declareMail(program, act);
  declareDelivery(program, act);
  declareKeeping(program, act);
  declareForAgents(program, act);
  declareAdmin(program, act);
  declareUsers(program, act);
  declareUsage(program, act);
  declareWhoami(program, act);
  declareWatching(program, act);
  declareCare(program, act);
  declareBackup(program, act);
  return withExamples(program, [
    ['spine serve', 'start the server on 127.0.0.1:36725'],
    ['spine jobs add "Update the changelog"', 'give work'],
    ['spine jobs list', 'see it'],
    ['spine doctor', 'find out what is wrong'],
  ]).addHelpText('after', `\n${EXIT_CODES}`);
}

export const EXIT_CODES = `Exit codes:\n${EXIT_MEANINGS.map(([code, words]) => `  ${String(code).padStart(3)}  ${words}`).join('\n')}`;

/** Known before and after the command's name. */
export function addGlobalOptions(program: Command): void {
  program
    .option('--url <url>', 'the server (SPINE_URL; else the one that runs on the data dir)')
    .option('--token <token>', 'the token (SPINE_TOKEN; else the one in the data dir)')
    .addOption(
      new Option('--as <role>', "which of this machine's tokens to use").choices([
        'head',
        'left-claw',
        'right-claw',
      ]),
    )
    .option('--data-dir <path>', 'folder of the database and files (SPINE_DATA_DIR)')
    .option('--json', 'print JSON, also for errors, both on standard output')
    .option('-q, --quiet', 'print ids and nothing else')
    .option('--no-color', 'no colours (NO_COLOR and FORCE_COLOR are honoured too)')
    .option('--no-input', 'never ask');
}
