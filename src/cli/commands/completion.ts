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

const SCRIPTS: Readonly<Record<string, (places: readonly Place[]) => string>> = { bash, zsh, fish };

export const completion: Handler = async (session, { args: [shell = ''] }) => {
  const script = SCRIPTS[shell];
  if (script === undefined) throw usage(`There is no completion for ${shell}.`, 'Write bash, zsh or fish.');
  const idle = () => () => Promise.resolve();
  const text = script(placesOf(buildProgram(idle, '')));
  session.out.lines(text.trimEnd().split('\n'));
};

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
function bash(places: readonly Place[]): string {
  return `# spine completion for bash. In ~/.bashrc: source <(spine completion bash)
_spine_words() {
  local words=''
  case "$1" in
${cases(places)}
  esac
  printf '%s' "$words"
}
_spine() {
  local current="\${COMP_WORDS[COMP_CWORD]}" path='' word next words
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    next="\${path:+$path }$word"
    [[ -n "$(_spine_words "$next")" ]] && path="$next"
  done
  words="$(_spine_words "$path")"
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _spine spine
`;
}

function zsh(places: readonly Place[]): string {
  const rows = places.map(({ path, commands, options }) => {
    const all = [
      ...commands.map(({ name, about }) => `${name}:${about}`),
      ...options.map(({ flag, about }) => `${flag}:${about}`),
    ];
    return `    '${path}') items=(${all.map(zshQuoted).join(' ')}) ;;`;
  });
  return `#compdef spine
# spine completion for zsh. In ~/.zshrc: source <(spine completion zsh)
_spine() {
  local -a items
  local place='' word
  _spine_items() {
    items=()
    case "$1" in
${rows.join('\n')}
    esac
  }
  for word in "\${(@)words[2,CURRENT-1]}"; do
    _spine_items "\${place:+$place }$word"
    (( \${#items} )) && place="\${place:+$place }$word"
  done
  _spine_items "$place"
  _describe 'spine' items || _files
}
compdef _spine spine
`;
}

function zshQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** A place's commands are offered right behind it, its options also behind further words. */
function fish(places: readonly Place[]): string {
  const lines = places.flatMap(({ path, commands, options }) => {
    const here = (how: string): string => `-n "__spine_at ${how} '${path}'"`;
    const isGroup = path !== '' && commands.length > 0;
    return [
      ...commands.map(
        ({ name, about }) => `complete -c spine -f ${here('exactly')} -a ${name} -d ${fishQuoted(about)}`,
      ),
      ...(isGroup ? [] : options).map(
        ({ flag, about }) =>
          `complete -c spine ${here(path === '' ? 'exactly' : 'within')} -l ${flag.slice(2)} -d ${fishQuoted(about)}`,
      ),
    ];
  });
  return `# spine completion for fish
function __spine_at
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
