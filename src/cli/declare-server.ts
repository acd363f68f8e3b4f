/** The server itself: run it, look at it, look after it. */

import type { Command } from 'commander';
import { type Act, declare, milliseconds, whole } from './command.ts';

export function declareRunning(program: Command, act: Act): void {
  declare(program, 'serve', 'Run the server until it is told to stop.', [
    ['spine serve', 'SQLite in ./data; the first start makes and prints the tokens'],
    ['spine serve --port 0 --data-dir /tmp/try', 'a throw-away server on a free port'],
    ['DATABASE_URL=postgres://localhost/spine spine serve', 'on PostgreSQL'],
  ])
    .option('--host <host>', 'address to listen on (SPINE_HOST)')
    .option('--port <port>', 'port to listen on, 0 for any free one (SPINE_PORT)')
    .action(act(async () => (await import('./commands/local.ts')).serve));
  declare(program, 'status', 'Is it up, and what is it doing?', [
    ['spine status', 'exits with 6 when it is down'],
  ]).action(act(async () => (await import('./commands/status.ts')).status));
}

export function declareWhoami(program: Command, act: Act): void {
  declare(program, 'whoami', 'Whose token is this, and what may it do?', [
    ['spine whoami', 'name, role, targets, and the calls that are allowed'],
    ['spine whoami --token spn_… --json', 'of another token'],
  ]).action(act(async () => (await import('./commands/whoami.ts')).whoami));
}

export function declareWatching(program: Command, act: Act): void {
  declare(program, 'stats', 'How many jobs are in which state, by target.', [
    ['spine stats', 'as a table'],
    ['spine stats --json', 'as JSON'],
  ]).action(act(async () => (await import('./commands/stats.ts')).stats));
  declare(program, 'top', 'A live view of the queue; q or Ctrl-C ends it.', [
    ['spine top', 'refreshed every second'],
    ['spine top --once', 'one picture, also without a terminal'],
  ])
    .option('--interval <duration>', 'how often to look', milliseconds, 1_000)
    .option('--once', 'print one picture and end')
    .action(act(async () => (await import('./commands/top.ts')).top));
}

export function declareCare(program: Command, act: Act): void {
  declare(program, 'config', 'Print every setting, its value and where it comes from. Secrets are masked.', [
    ['spine config', 'as a table'],
    ['LEASE_SECONDS=60 spine config --json', 'as JSON'],
    ['spine config --server', 'what the running server was started with'],
  ])
    .option('--server', 'of the running server instead of this terminal')
    .action(act(async () => (await import('./commands/local.ts')).config));
  declare(program, 'doctor', 'Check the installation; every finding comes with what to do.', [
    ['spine doctor', 'exits with 1 when a check fails'],
    ['spine doctor --data-dir /var/lib/spine', 'of another data dir'],
    ['spine doctor --deep', 'reads every row, journal line and artifact; the server may run'],
  ])
    .option('--deep', "also run the database's own check, and compare rows, journal and artifacts")
    .action(act(async () => (await import('./commands/doctor.ts')).doctor));
  declare(
    program,
    'rebuild',
    'Recreate the database from the files in the data dir. The server must be stopped.',
    [['spine rebuild --data-dir ./data', 'after the database file was lost']],
  )
    .option('-y, --yes', 'do not ask')
    .action(act(async () => (await import('./commands/local.ts')).rebuild));
  declare(program, 'bench', 'Measure a running server: jobs created, claimed and completed in a second.', [
    ['spine bench', '2,000 jobs, 8 workers'],
    ['spine bench --jobs 20000 --workers 32 --json', 'more, for a program'],
  ])
    .option('--jobs <number>', 'how many', whole, 2_000)
    .option('--workers <number>', 'how many at once', whole, 8)
    .option('--batch <number>', 'jobs in one create call', whole, 100)
    .action(act(async () => (await import('./commands/bench.ts')).bench));
  declare(program, 'completion', 'Print the completion script of a shell.', [
    ['source <(spine completion bash)', 'in ~/.bashrc'],
    ['source <(spine completion zsh)', 'in ~/.zshrc'],
    ['spine completion fish > ~/.config/fish/completions/spine.fish', 'once'],
    ['spine completion powershell | Out-String | Invoke-Expression', 'in $PROFILE'],
  ])
    .argument('<shell>', 'bash, zsh, fish or powershell')
    .argument('[words...]', 'for the scripts: after the word words, what has been typed')
    .action(act(async () => (await import('./commands/completion.ts')).completion));
}
