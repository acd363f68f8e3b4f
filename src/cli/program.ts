import { Command } from 'commander';

/** Options of commands that start from the settings; they win over the environment. */
export interface SettingFlags {
  readonly host?: string;
  readonly port?: string;
  readonly dataDir?: string;
}

/** What the commands do. Passed in, so that the command tree can be printed and tested without a server. */
export interface Actions {
  serve(flags: SettingFlags): Promise<void>;
  config(options: { readonly json?: boolean }): Promise<void> | void;
  rebuild(flags: SettingFlags): Promise<void>;
  backup(file: string, flags: SettingFlags): Promise<void>;
}

export function buildProgram(actions: Actions, version: string): Command {
  const program = new Command('spine')
    .description('A durable job queue for AI agents.')
    .version(version, '-v, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .showHelpAfterError('(spine --help lists commands and options)');
  addServe(program, actions);
  addConfig(program, actions);
  addRebuild(program, actions);
  addBackup(program, actions);
  return withExamples(program, [
    ['spine serve', 'start the server on 127.0.0.1:36725'],
    ['spine config', 'show every setting and where it comes from'],
    ['spine backup spine.backup', 'copy the database while the server runs'],
  ]).addHelpText('after', EXIT_CODES);
}

const EXIT_CODES = `
Exit codes: 0 success, 1 failure, 2 wrong usage, 78 wrong settings or start refused.`;

const DATA_DIR = ['--data-dir <path>', 'folder of the database and files (SPINE_DATA_DIR)'] as const;

function addServe(program: Command, actions: Actions): void {
  const serve = program
    .command('serve')
    .description('Run the server until it is told to stop.')
    .option('--host <host>', 'address to listen on (SPINE_HOST)')
    .option('--port <port>', 'port to listen on, 0 for any free one (SPINE_PORT)')
    .option(...DATA_DIR)
    .action((flags: SettingFlags) => actions.serve(flags));
  withExamples(serve, [
    ['spine serve', 'SQLite in ./data; the first start makes and prints the tokens'],
    ['spine serve --port 0 --data-dir /tmp/try', 'a throw-away server on a free port'],
    ['DATABASE_URL=postgres://localhost/spine spine serve', 'on PostgreSQL'],
  ]);
}

function addConfig(program: Command, actions: Actions): void {
  const config = program
    .command('config')
    .description('Print every setting, its value and where it comes from. Secrets are masked.')
    .option('--json', 'print JSON')
    .action((options: { json?: boolean }) => actions.config(options));
  withExamples(config, [
    ['spine config', 'as a table'],
    ['LEASE_SECONDS=60 spine config --json', 'as JSON'],
  ]);
}

function addRebuild(program: Command, actions: Actions): void {
  const rebuild = program
    .command('rebuild')
    .description('Recreate the database from the files in the data folder. The server must be stopped.')
    .option(...DATA_DIR)
    .action((flags: SettingFlags) => actions.rebuild(flags));
  withExamples(rebuild, [['spine rebuild --data-dir ./data', 'after the database file was lost']]);
}

function addBackup(program: Command, actions: Actions): void {
  const backup = program
    .command('backup')
    .description('Write a consistent copy of the SQLite database, also while the server runs.')
    .argument('<file>', 'where to write the copy; must not exist')
    .option(...DATA_DIR)
    .action((file: string, flags: SettingFlags) => actions.backup(file, flags));
  withExamples(backup, [['spine backup /backups/spine.db', 'a copy of ./data/spine.db']]);
}

/** Examples come before everything else: most readers of help want to copy a line. */
function withExamples(command: Command, examples: readonly (readonly [string, string])[]): Command {
  const width = Math.max(...examples.map(([line]) => line.length));
  const lines = examples.map(([line, meaning]) => `  ${line.padEnd(width)}  ${meaning}`);
  return command.addHelpText('before', `Examples:\n${lines.join('\n')}\n`);
}
