/** Runs one command line and answers with the exit code. */

import { type Command, CommanderError } from 'commander';
import type { Act } from './command.ts';
import { EXIT, type Failure, failureOf } from './failure.ts';
import { helpFor, helpWanted } from './help-words.ts';
import type { Host } from './host.ts';
import { Out } from './out.ts';
import { buildProgram } from './program.ts';
import { Session } from './session.ts';
import { vocabularyOf } from './text/vocabulary.ts';
import { inTypedWords } from './typed-words.ts';

/** `build` makes the commands: those of `spine` unless said. */
export async function run(host: Host, args: readonly string[], build = buildProgram): Promise<number> {
  let name = 'spine';
  const program = build(
    actOn(host, () => name),
    host.version,
  );
  name = program.name();
  const complaint: string[] = [];
  const json = asksForJson(args);
  listenTo(program, host, complaint);
  try {
    await program.parseAsync(helpWanted(program, args) ?? args, { from: 'user' });
    return EXIT.ok;
  } catch (error) {
    if (error instanceof CommanderError)
      return usageProblem(host, error, {
        complaint: complaint.join(''),
        json,
        help: helpFor(program, args),
        name,
      });
    if (error instanceof Reported) return error.exitCode;
    return report(new Out(host, { json }), failureOf(error), name);
  }
}

/** Already told to the user; only the exit code is left. */
class Reported extends Error {
  readonly exitCode: number;

  constructor(exitCode: number) {
    super();
    this.exitCode = exitCode;
  }
}

function actOn(host: Host, name: () => string): Act {
  return (load) =>
    async (...params) => {
      // Commander passes the arguments, the options and last the command itself.
      const command = params.at(-1) as Command;
      const options = command.optsWithGlobals();
      const session = new Session(host, options, vocabularyOf(name()), filtersIn(command));
      try {
        const handle = await load();
        // The options are the ones that were declared beside this very handler.
        await handle(session, { args: command.args, options: options as never });
      } catch (error) {
        throw new Reported(report(session.out, inTypedWords(session.explain(error), command), name()));
      } finally {
        await session.close();
      }
    };
}

function report(out: Out, failure: Failure, name: string): number {
  const { exitCode, code, message, hint, details } = failure;
  // Who pressed Ctrl-C knows.
  if (code === 'silent' || (exitCode === EXIT.interrupted && !out.json)) return exitCode;
  if (out.json) out.record({ ok: false, error: code, message, hint, exitCode, ...details }, () => []);
  else for (const line of humanLines(failure)) out.warn(`${name}: ${line}`);
  return exitCode;
}

/** Several problems at once, as wrong settings may have, take a line each. */
function humanLines({ message, hint, details }: Failure): string[] {
  const lines = message.split('\n');
  if (hint === null) return lines;
  const last = lines.pop() ?? '';
  return [...lines, `${ended(`${last}${factsText(message, details)}`)} ${hint}`];
}

/** Facts that the sentence has named already, or that are for programs. */
const UNSAID = new Set(['field', 'cause', 'id', 'state', 'status']);

/** ` (claimedBy left-claw)`: what the server knows about the case. */
function factsText(message: string, details: Failure['details']): string {
  const facts = Object.entries(details)
    .filter(([name, value]) => !UNSAID.has(name) && ['string', 'number'].includes(typeof value))
    .filter(([, value]) => !message.includes(String(value)))
    .map(([name, value]) => `${name} ${String(value)}`);
  return facts.length === 0 ? '' : ` (${facts.join(', ')})`;
}

function listenTo(command: Command, host: Host, complaint: string[]): void {
  command.exitOverride().configureOutput({
    writeOut: (text) => void host.stdout.write(text),
    writeErr: (text) => void complaint.push(text),
    getOutHelpWidth: () => host.stdout.columns || 100,
    getErrHelpWidth: () => host.stderr.columns || 100,
    getOutHasColors: () => false,
    getErrHasColors: () => false,
  });
  for (const child of command.commands) listenTo(child, host, complaint);
}

interface Misuse {
  readonly complaint: string;
  readonly json: boolean;
  /** Where to read how it is used. */
  readonly help: string;
  /** Of the command. */
  readonly name: string;
}

function usageProblem(host: Host, error: CommanderError, { complaint, json, help, name }: Misuse): number {
  if (error.exitCode === 0) return EXIT.ok;
  const out = new Out(host, { json });
  if (error.code === 'commander.help') {
    // A command that needs another word: its help says which.
    if (!json) host.stderr.write(complaint);
    else report(out, problem('A command is missing.', help), name);
    return EXIT.usage;
  }
  const words = complaint
    .replace(/^error: /, '')
    .trim()
    .split('\n')
    .join(' ');
  return report(out, problem(`${words.charAt(0).toUpperCase()}${words.slice(1)}`, help), name);
}

/** An option that leaves something out of a list says what alone it leaves in. */
function filtersIn(command: Command): string[] {
  return command.options
    .filter((option) => /^only\b/.test(option.description))
    .filter((option) => command.getOptionValueSource(option.attributeName()) === 'cli')
    .map((option) => {
      const flag = option.long ?? option.flags;
      const value: unknown = command.getOptionValue(option.attributeName());
      return value === true ? flag : `${flag} ${String(value)}`;
    });
}

function problem(message: string, help: string): Failure {
  const hint = `See: npx ${help}`;
  return { exitCode: EXIT.usage, code: 'usage', message: ended(message), hint, details: {} };
}

function ended(sentence: string): string {
  const bare = sentence.replace(/\.(?= \([^)]*\)$)/, '');
  return /[.?!]$/.test(bare) ? bare : `${bare}.`;
}

function asksForJson(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  return (end === -1 ? args : args.slice(0, end)).includes('--json');
}
