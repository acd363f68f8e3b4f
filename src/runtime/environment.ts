/** What a command that Spine starts may inherit of the server's own environment. Tokens and settings are not among it. */

const INHERITED = ['PATH', 'HOME', 'LANG', 'TZ', 'USER', 'TMPDIR'];

export function inheritedEnvironment(): Readonly<Record<string, string>> {
  const pairs = INHERITED.map((name) => [name, process.env[name]] as const);
  return Object.fromEntries(pairs.filter((pair): pair is [string, string] => pair[1] !== undefined));
}
