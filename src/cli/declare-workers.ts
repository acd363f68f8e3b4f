/** Workers: run one, and look after all of them. */

import { type Command, Option } from 'commander';
import { type Act, collect, declare, whole } from './command.ts';

export function declareWorkers(program: Command, act: Act): void {
  declareWorker(program, act);
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
