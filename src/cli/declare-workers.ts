/** Workers: run one, and look after all of them. */

import { type Command, Option } from 'commander';
import { type Act, collect, declare, milliseconds, whole } from './command.ts';

export function declareWorkers(program: Command, act: Act): void {
  declareWorker(program, act);
  declareAll(program, act);
}

function declareAll(program: Command, act: Act): void {
  const workers = declare(program, 'workers', 'Who works, since when, and on what.', [
    ['spine workers list', 'all of them'],
    ['spine workers drain slot-1', 'it takes nothing new'],
  ]);
  declare(workers, 'list', 'List the workers.', [['spine workers list', 'when each was last heard from']])
    .alias('ls')
    .action(act(async () => (await import('./commands/workers.ts')).listWorkers));
  declare(workers, 'top', 'A live view of the workers; q or Ctrl-C ends it.', [
    ['spine workers top', 'refreshed every second'],
    ['spine workers top --once', 'one picture, also without a terminal'],
  ])
    .option('--interval <duration>', 'how often to look', milliseconds, 1_000)
    .option('--once', 'print one picture and end')
    .action(act(async () => (await import('./commands/workers.ts')).topWorkers));
  declare(workers, 'drain', 'Ask a worker to take nothing new; it goes on with what it has.', [
    ['spine workers drain slot-1', 'before an update'],
  ])
    .argument('<slot>', 'of the worker')
    .action(act(async () => (await import('./commands/workers.ts')).drainWorker));
  declare(workers, 'resume', 'Let a worker take work again.', [['spine workers resume slot-1', 'after it']])
    .argument('<slot>', 'of the worker')
    .action(act(async () => (await import('./commands/workers.ts')).resumeWorker));
  declare(workers, 'remove', 'Forget a worker that is offline.', [
    ['spine workers remove slot-9', 'asks first on a terminal'],
  ])
    .alias('rm')
    .argument('<slot>', 'of the worker')
    .option('-y, --yes', 'do not ask')
    .action(act(async () => (await import('./commands/workers.ts')).removeWorker));
  declare(workers, 'unit', 'Print what PM2 or systemd need to keep workers running.', [
    ['spine workers unit pm2 slot-1 slot-2 > ecosystem.config.cjs', 'then: pm2 start ecosystem.config.cjs'],
    ['spine workers unit systemd', 'a template, spine-worker@.service'],
  ])
    .argument('<manager>', 'pm2 or systemd')
    .argument('[slots...]', 'for PM2, the slots; slot-1 unless said')
    .action(act(async () => (await import('./commands/workers.ts')).printUnit));
}

function declareWorker(program: Command, act: Act): void {
  declare(program, 'worker', 'Do the tasks of a slot, one session for each, until it is told to stop.', [
    ['spine worker slot-1', 'the demo runner, which does nothing'],
    [`spine worker slot-1 --command '["./agent.sh"]'`, 'a program that gets the prompt on standard input'],
    ['spine worker slot-1 --runner claude --root ~/src', 'Claude Code, in folders below ~/src'],
  ])
    .argument('[slot]', 'its name (SLOT_ID)')
    .addOption(
      new Option('--runner <runner>', 'what does the tasks').choices([
        'command',
        'claude',
        'gateway',
        'http',
        'demo',
      ]),
    )
    .option('--command <json>', 'the program and its arguments; {prompt} stands for the prompt')
    .option('--sessions-url <url>', 'the server that runs the sessions, for the runner http')
    .option('--root <dir>', 'a folder that sessions may work in; repeatable', collect)
    .option('--env <name>', 'a variable that sessions get to see; repeatable', collect)
    .option('--capability <name>', 'what it can do, for tasks that require it; repeatable', collect)
    .option('--concurrency <number>', 'tasks at the same time, each in a slot of its own', whole, 1)
    .action(act(async () => (await import('./commands/worker.ts')).worker));
}
