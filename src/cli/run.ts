import { type Command, CommanderError } from 'commander';

const EXIT_OK = 0;
const EXIT_FAILURE = 1;
const EXIT_USAGE = 2;

/** Runs one command line (without the program's own path) and answers with the exit code. */
export async function run(
  program: Command,
  args: readonly string[],
  warn: (line: string) => void,
): Promise<number> {
  exitByThrowing(program);
  try {
    await program.parseAsync(args, { from: 'user' });
    return EXIT_OK;
  } catch (error) {
    // Commander has printed its own message by now, or the help that was asked for.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_OK : EXIT_USAGE;
    for (const line of explain(error).split('\n')) warn(`spine: ${line}`);
    return exitCodeOf(error);
  }
}

function exitByThrowing(command: Command): void {
  command.exitOverride();
  command.commands.forEach(exitByThrowing);
}

/** A failed connection to several addresses is an AggregateError whose own message is empty. */
function explain(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(explain).join('; ');
  return error instanceof Error && error.message !== '' ? error.message : String(error);
}

function exitCodeOf(error: unknown): number {
  if (error instanceof Error && 'exitCode' in error && typeof error.exitCode === 'number')
    return error.exitCode;
  return EXIT_FAILURE;
}
