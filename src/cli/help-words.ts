/** Which help is asked for, and which one to name. */

import type { Command } from 'commander';

/**
 * `help jobs add` as `jobs add --help`. Of `help nope` the words alone are left, which are refused and told what was meant;
 * the help of what there is would not say that this is none of it.
 */
export function helpWanted(program: Command, args: readonly string[]): readonly string[] | null {
  let command = program;
  let wanted = false;
  const named: string[] = [];
  for (const word of args.filter((one) => !one.startsWith('-'))) {
    const isGroup = command.commands.length > 0;
    if (isGroup && word === 'help') wanted = true;
    else {
      named.push(word);
      const child = command.commands.find((one) => one.name() === word || one.aliases().includes(word));
      if (child === undefined) return wanted && isGroup ? named : null;
      command = child;
    }
  }
  return wanted ? [...named, '--help'] : null;
}

/** The command as far as it was understood. */
export function helpFor(program: Command, args: readonly string[]): string {
  let command = program;
  const names = [program.name()];
  for (const word of args) {
    const child = command.commands.find((one) => one.name() === word || one.aliases().includes(word));
    if (child === undefined) continue;
    command = child;
    names.push(child.name());
  }
  return `${names.join(' ')} --help`;
}
