/** `spine mcp install` and `spine skill install`: files of other programs, in which nothing else is touched. */

import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Handler } from '../command.ts';
import { CliError, EXIT, usage } from '../failure.ts';
import type { Found } from '../find-server.ts';
import { CLIENTS, type ClientName, type Place, type Start } from '../mcp/clients.ts';
import { AGENT, type Session } from '../session.ts';

interface InstallOptions {
  readonly project?: boolean;
  readonly name: string;
  readonly stdio?: boolean;
  readonly withToken?: boolean;
  readonly dryRun?: boolean;
}

interface SkillOptions {
  readonly for: ClientName;
  readonly project?: boolean;
  readonly dryRun?: boolean;
}

type Json = Record<string, unknown>;

const VARIABLE = 'SPINE_TOKEN';
const PACKAGED_SKILL = new URL('../../../SKILL.md', import.meta.url);
const SKILL = 'spine';

export const installMcp: Handler<InstallOptions> = async (session, { args, options }) => {
  // The choices of the argument are these.
  const client = CLIENTS[args[0] as ClientName];
  if (!/^[\w-]{1,64}$/.test(options.name)) throw usage('--name takes up to 64 letters, digits, - and _.');
  const { home } = session.host.machine();
  if (options.project === true && client.project === null)
    throw usage(`${client.title} knows no servers of one folder; leave out --project.`);
  const place = options.project === true ? client.project?.(resolve('.')) : client.everywhere(home);
  if (place === undefined) return;
  const { entry, needs } =
    options.stdio === true ? startOf(session, client, options) : reachOf(session, client, options);
  const { text, before } = withEntry(place, options.name, entry);
  const holdsToken = needs === 'token';
  const next = needs === 'variable' ? client.next(VARIABLE) : [];
  const changed = before !== text;
  if (options.dryRun !== true && changed) replace(place.file, text, holdsToken);
  session.out.result({
    value: {
      ok: true,
      dryRun: options.dryRun === true,
      file: place.file,
      name: options.name,
      entry: shown(entry, holdsToken),
      changed,
      next,
    },
    lines: () => [
      done(options.dryRun === true, changed, place.file, options.name),
      ...JSON.stringify({ [options.name]: shown(entry, holdsToken) }, null, 2).split('\n'),
      ...(next.length > 0 ? ['Next:', ...next.map((line) => `  ${line}`)] : []),
    ],
  });
};

function done(dryRun: boolean, changed: boolean, file: string, name: string): string {
  if (!changed) return `${file} has this entry already.`;
  return dryRun
    ? `${file} would get the entry ${name}:`
    : `${file} has the entry ${name}; all else in it is as it was:`;
}

/** What is printed may be kept somewhere. */
function shown(entry: object, holdsToken: boolean): object {
  if (!holdsToken) return entry;
  return 'env' in entry
    ? { ...entry, env: { [VARIABLE]: '********' } }
    : { ...entry, headers: { Authorization: 'Bearer ********' } };
}

type Client = (typeof CLIENTS)[ClientName];

/** What a client finds, and what it takes for that: a token that stands in it, one in a variable, or none. */
interface Entry {
  readonly entry: object;
  readonly needs: 'token' | 'variable' | 'nothing';
}

/** It is started in a folder of the client's choice, without our environment: whatever it needs is said in it. */
function startOf(session: Session, client: Client, { withToken }: InstallOptions): Entry {
  const { node, entry } = session.host.machine();
  const { as = AGENT } = session.flags;
  const { url, token } = session.located([AGENT]);
  const isNamed = url.origin === '--url' || url.origin === 'SPINE_URL';
  const args = [entry, 'mcp', ...(isNamed ? ['--url', url.text] : [])];
  const started = (start: Partial<Start>) => client.stdio({ command: node, args, ...start });
  if (withToken === true)
    return { entry: started({ env: { [VARIABLE]: tokenToWrite(token) } }), needs: 'token' };
  // A server of this machine that has not been started yet makes tokens of its own.
  const isFound = token === null ? !isNamed : token.stored === true;
  if (!isFound)
    return { entry: started({ env: { [VARIABLE]: client.variable(VARIABLE) } }), needs: 'variable' };
  const dataDir = resolve(session.host.server(session.flags).dataDir);
  return { entry: started({ args: [...args, '--data-dir', dataDir, '--as', as] }), needs: 'nothing' };
}

function reachOf(session: Session, client: Client, { withToken }: InstallOptions): Entry {
  const { url, token } = session.located([AGENT]);
  const reach = { url: `${url.text.replace(/\/+$/, '')}/mcp` };
  return withToken === true
    ? { entry: client.http({ ...reach, token: tokenToWrite(token) }), needs: 'token' }
    : { entry: client.http({ ...reach, token: client.variable(VARIABLE) }), needs: 'variable' };
}

function tokenToWrite(token: Found | null): string {
  if (token !== null) return token.text;
  throw new CliError(
    EXIT.auth,
    'unauthorized',
    'There is no token to write.',
    'Pass --token, or set SPINE_TOKEN.',
  );
}

/** The file with the entry in its place. What cannot be read as JSON is not touched. */
function withEntry(
  { file, path }: Place,
  name: string,
  entry: object,
): { text: string; before: string | null } {
  const before = existsSync(file) ? readFileSync(file, 'utf8') : null;
  const root = before === null || before.trim() === '' ? {} : objectIn(before, file, name, entry);
  let at = root;
  for (const step of path) {
    const inner = at[step] ?? {};
    if (typeof inner !== 'object' || Array.isArray(inner)) throw unreadable(file, name, entry);
    at = at[step] = inner as Json;
  }
  if (JSON.stringify(at[name]) === JSON.stringify(entry)) return { text: before ?? '', before };
  at[name] = entry;
  return { text: `${JSON.stringify(root, null, indentOf(before))}\n`, before };
}

function objectIn(text: string, file: string, name: string, entry: object): Json {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Json;
  } catch {
    // OpenClaw and people write comments, which would be lost.
  }
  throw unreadable(file, name, entry);
}

function unreadable(file: string, name: string, entry: object): CliError {
  return new CliError(
    EXIT.conflict,
    'conflict',
    `${file} is not plain JSON, and was left as it is.`,
    `Add this by hand: "${name}": ${JSON.stringify(entry)}`,
  );
}

function indentOf(text: string | null): string {
  return /^\{\r?\n([ \t]+)/.exec(text ?? '')?.[1] ?? '  ';
}

/** All of it or nothing; whoever reads meanwhile sees the one or the other. A link stays one: it leads to where it is kept. */
function replace(named: string, text: string, holdsToken: boolean): void {
  const file = existsSync(named) ? realpathSync(named) : named;
  const mode = holdsToken ? 0o600 : existsSync(file) ? statSync(file).mode & 0o777 : 0o600;
  const draft = `${file}.spine-${process.pid}`;
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(draft, text, { mode, flag: 'wx' });
    chmodSync(draft, mode);
    renameSync(draft, file);
  } catch (error) {
    const message = `${file} cannot be written (${(error as Error).message}).`;
    throw new CliError(EXIT.failure, 'not_written', message);
  }
}

export const installSkill: Handler<SkillOptions> = async (session, { options }) => {
  const client = CLIENTS[options.for];
  const { home } = session.host.machine();
  const folder = options.project === true ? client.projectSkills(resolve('.')) : client.skills(home);
  const file = join(folder, SKILL, 'SKILL.md');
  const text = readFileSync(PACKAGED_SKILL, 'utf8');
  const before = existsSync(file) ? readFileSync(file, 'utf8') : null;
  if (before !== null && !before.startsWith('---\nname: spine\n'))
    throw new CliError(EXIT.conflict, 'conflict', `${file} is somebody else's skill.`, 'Move it away first.');
  const changed = before !== text;
  if (options.dryRun !== true && changed) replace(file, text, false);
  session.out.result({
    value: { ok: true, dryRun: options.dryRun === true, file, changed },
    lines: () => [
      !changed
        ? `${file} is as it should be.`
        : options.dryRun === true
          ? `${file} would be written.`
          : `${file} is written.`,
    ],
  });
};
