/** Completion scripts, made from the commands themselves. */

import type { Command } from 'commander';
import type { Handler } from '../command.ts';
import { usage } from '../failure.ts';
import { buildProgram } from '../program.ts';

interface Place {
  /** The words so far, for example `jobs list`; empty at the top. */
  readonly path: string;
  readonly commands: readonly { readonly name: string; readonly about: string }[];
  readonly options: readonly { readonly flag: string; readonly about: string }[];
}

const SCRIPTS: Readonly<Record<string, (places: readonly Place[], name: string) => string>> = {
  bash,
  zsh,
  fish,
};

export const completion: Handler = completionOf(buildProgram);

export function completionOf(build: typeof buildProgram): Handler {
  return async (session, { args: [shell = ''] }) => {
    const script = SCRIPTS[shell];
    if (script === undefined) throw usage(`There is no completion for ${shell}.`, 'Write bash, zsh or fish.');
    const idle = () => () => Promise.resolve();
    const program = build(idle, '');
    const text = script(placesOf(program), program.name());
    session.out.lines(text.trimEnd().split('\n'));
  };
}

/** As the name of a shell function. */
function functionOf(name: string): string {
  return `_${name.replaceAll('-', '_')}`;
}

function placesOf(command: Command, path: readonly string[] = [], global: Place['options'] = []): Place[] {
  const own = command.options
    .filter(({ hidden, long }) => !hidden && long !== '--version')
    .map(({ long, short, description }) => ({ flag: long ?? short ?? '', about: description }));
  const commands = command.commands.map((child) => ({ name: child.name(), about: child.description() }));
  const options = [...own, ...global];
  const here = { path: path.join(' '), commands, options };
  return [
    here,
    ...command.commands.flatMap((child) =>
      placesOf(child, [...path, child.name()], path.length === 0 ? own : global),
    ),
  ];
}

function words({ commands, options }: Place): string {
  return [...commands.map(({ name }) => name), ...options.map(({ flag }) => flag), '--help'].join(' ');
}

function cases(places: readonly Place[]): string {
  return places.map((place) => `    '${place.path}') words='${words(place)}' ;;`).join('\n');
}

/** Follows the words that are commands, and offers what may come next. */
function bash(places: readonly Place[], name: string): string {
  const own = functionOf(name);
  return `# ${name} completion for bash. In ~/.bashrc: source <(${name} completion bash)
${own}_words() {
  local words=''
  case "$1" in
${cases(places)}
  esac
  printf '%s' "$words"
}
${own}() {
  local current="\${COMP_WORDS[COMP_CWORD]}" path='' word next words
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    next="\${path:+$path }$word"
    [[ -n "$(${own}_words "$next")" ]] && path="$next"
  done
  words="$(${own}_words "$path")"
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F ${own} ${name}
`;
}

function zsh(places: readonly Place[], name: string): string {
  const own = functionOf(name);
  const rows = places.map(({ path, commands, options }) => {
    const all = [
      ...commands.map(({ name, about }) => `${name}:${about}`),
      ...options.map(({ flag, about }) => `${flag}:${about}`),
    ];
    return `    '${path}') items=(${all.map(zshQuoted).join(' ')}) ;;`;
  });
  return `#compdef ${name}
# ${name} completion for zsh. In ~/.zshrc: source <(${name} completion zsh)
${own}() {
  local -a items
  local place='' word
  ${own}_items() {
    items=()
    case "$1" in
${rows.join('\n')}
    esac
  }
  for word in "\${(@)words[2,CURRENT-1]}"; do
    ${own}_items "\${place:+$place }$word"
    (( \${#items} )) && place="\${place:+$place }$word"
  done
  ${own}_items "$place"
  _describe '${name}' items || _files
}
compdef ${own} ${name}
`;
}

function zshQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** A place's commands are offered right behind it, its options also behind further words. */
function fish(places: readonly Place[], name: string): string {
  const own = functionOf(name);
  const lines = places.flatMap(({ path, commands, options }) => {
    const here = (how: string): string => `-n "_${own}_at ${how} '${path}'"`;
    const isGroup = path !== '' && commands.length > 0;
    return [
      ...commands.map(
        ({ name: word, about }) =>
          `complete -c ${name} -f ${here('exactly')} -a ${word} -d ${fishQuoted(about)}`,
      ),
      ...(isGroup ? [] : options).map(
        ({ flag, about }) =>
          `complete -c ${name} ${here(path === '' ? 'exactly' : 'within')} -l ${flag.slice(2)} -d ${fishQuoted(about)}`,
      ),
    ];
  });
  return `# ${name} completion for fish
function _${own}_at
  set -l words (commandline -opc | string match -v -- '-*')[2..-1]
  test $argv[1] = exactly; and begin
    test "$words" = "$argv[2]"
    return
  end
  string match -q -- "$argv[2] *" "$words "
end
${lines.join('\n')}
`;
}

function fishQuoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
