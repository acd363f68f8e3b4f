/**
 * What programs that Spine starts may inherit of the server's own environment. Any command of the same user may read the
 * environment of all of them.
 */

/** For commands: tokens and settings are not among it. */
const INHERITED = ['PATH', 'HOME', 'LANG', 'TZ', 'USER', 'TMPDIR'];

export function inheritedEnvironment(): Readonly<Record<string, string>> {
  const pairs = INHERITED.map((name) => [name, process.env[name]] as const);
  return Object.fromEntries(pairs.filter((pair): pair is [string, string] => pair[1] !== undefined));
}

/** For the operator's own programs, which look for settings of theirs there: everything but these. */
export function environmentBut(names: readonly string[]): Readonly<Record<string, string>> {
  const left = Object.entries(process.env).filter(([name]) => !names.includes(name));
  return Object.fromEntries(left.filter((pair): pair is [string, string] => pair[1] !== undefined));
}
