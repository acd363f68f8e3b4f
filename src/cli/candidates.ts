/** What may be typed next, found by walking the commands as they are declared. */

import type { Argument, Command, Option } from 'commander';

/** Names that only the server knows. */
export type Kind = 'jobs' | 'schedules' | 'types' | 'targets' | 'pools';

export interface Candidate {
  readonly word: string;
  readonly about: string;
}

export interface Next {
  readonly candidates: readonly Candidate[];
  readonly kind: Kind | null;
}

/** The words are those before the one that is being typed, which is the last. */
export function nextWords(program: Command, before: readonly string[], current: string): Next {
  let command = program;
  let given = 0;
  let open: Option | undefined;
  for (const word of before) {
    if (open !== undefined) open = undefined;
    else if (word.startsWith('-')) open = valued(optionsOf(program, command), word);
    else {
      const child = given === 0 ? childOf(command, word) : undefined;
      if (child === undefined) given++;
      command = child ?? command;
    }
  }
  if (open !== undefined) return valuesOf(program, open, open.argChoices);
  if (current.startsWith('-')) return { candidates: flags(optionsOf(program, command)), kind: null };
  if (command.commands.length > 0 && given === 0) return { candidates: words(command), kind: null };
  const last = command.registeredArguments.at(-1);
  const argument = command.registeredArguments[given] ?? (last?.variadic ? last : undefined);
  return argument === undefined
    ? { candidates: flags(optionsOf(program, command)), kind: null }
    : valuesOf(program, argument, argument.argChoices);
}

function childOf(command: Command, word: string): Command | undefined {
  // `help jobs` goes on as `jobs` does.
  return word === 'help' && command.commands.length > 0
    ? command
    : command.commands.find((one) => one.name() === word || one.aliases().includes(word));
}

function optionsOf(program: Command, command: Command): Option[] {
  const own = command === program ? [] : command.options;
  return [...own, ...program.options].filter(({ hidden, long }) => !hidden && long !== '--version');
}

/** The option whose value comes next; one that has it already is none. */
function valued(options: readonly Option[], word: string): Option | undefined {
  return options.find(({ long, short, required }) => required && (word === long || word === short));
}

function flags(options: readonly Option[]): Candidate[] {
  const help = { word: '--help', about: 'print this help' };
  return [
    ...options.map(({ long, flags, description }) => ({ word: long ?? flags, about: description })),
    help,
  ];
}

function words(command: Command): Candidate[] {
  return command.commands.map((one) => ({ word: one.name(), about: one.description() }));
}

function valuesOf(program: Command, what: Option | Argument, choices: readonly string[] | undefined): Next {
  if (choices !== undefined) return { candidates: choices.map((word) => ({ word, about: '' })), kind: null };
  return { candidates: [], kind: kindOf(program, what) };
}

/** Arguments and options say what they take between their brackets, or by their own names. */
function kindOf(program: Command, what: Option | Argument): Kind | null {
  const isFlag = 'flags' in what;
  const [, taken = ''] = isFlag ? (/<([\w-]+)>/.exec(what.flags) ?? []) : [null, what.name()];
  const name = isFlag ? (what.long ?? '').slice(2) : taken;
  // To this program a schedule is a job.
  const jobs = program.name() === 'openclaw-scheduler' ? 'schedules' : 'jobs';
  if (['job', 'jobs', 'job-id'].includes(taken)) return jobs;
  if (['schedule', 'schedules'].includes(taken)) return 'schedules';
  return NAMED[name] ?? null;
}

const NAMED: Readonly<Record<string, Kind>> = { type: 'types', target: 'targets', pool: 'pools' };
