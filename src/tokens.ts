import {
  closeSync,
  constants,
  fstatSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { BlockList, isIP } from 'node:net';
import { join } from 'node:path';
import { syncFolderNow } from './disk/folder.ts';
import { type Config, ConfigError, type Role, type TokensByRole } from './config.ts';

/** Fills an array with `length` random bytes. */
export type RandomBytes = (length: number) => Uint8Array;

export interface PreparedTokens {
  readonly tokens: TokensByRole;
  /** True at the one start that made the tokens: the moment to show them. */
  readonly made: boolean;
  readonly warnings: readonly string[];
}

const ROLES: readonly Role[] = ['head', 'left_claw', 'right_claw'];
const MADE_BYTES = 32;
const SUFFIX_BYTES = 8;
const MIN_CHARS = 24;
/** Random hexadecimal text of 24 characters has fewer than once in thirty thousand times. */
const MIN_DISTINCT_CHARS = 8;

type TokenConfig = Pick<Config, 'host' | 'dataDir' | 'tokens'>;

/** The tokens to serve with: the configured ones if they are strong enough for the host, else made ones. */
export function prepareTokens(config: TokenConfig, random: RandomBytes): PreparedTokens {
  return configuredTokens(config) ?? madeTokens(config, random);
}

/** Those of the settings; null when there are none. */
export function configuredTokens({ host, tokens }: TokenConfig): PreparedTokens | null {
  if (ROLES.every((role) => tokens[role].length === 0)) return null;
  const weak = weaknesses(tokens);
  if (weak.length > 0 && !isLoopback(host))
    throw new ConfigError(weak.map((text) => `SPINE_HOST=${host}: ${text}`));
  return { tokens, made: false, warnings: weak };
}

/** Those of the data dir, made now if it has none. */
export function madeTokens({ host, dataDir }: TokenConfig, random: RandomBytes): PreparedTokens {
  if (!isLoopback(host)) {
    throw new ConfigError([
      `SPINE_HOST=${host} can be reached from other machines, and no token is set: ` +
        'set HEAD_TOKEN to at least 24 random characters (openssl rand -base64 32)',
    ]);
  }
  return storedOrMade(dataDir, random);
}

export function tokensFile(dataDir: string): string {
  return join(dataDir, 'tokens.json');
}

/** New ones, written beside the file: they are nobody's until `put` moves them into its place. */
export function newTokens(
  dataDir: string,
  random: RandomBytes,
): { readonly tokens: TokensByRole; put(): void; discard(): void } {
  const file = tokensFile(dataDir);
  const fresh = randomTokens(random);
  const temporary = writeBeside(dataDir, file, fresh, random);
  return {
    tokens: byRole(fresh),
    put: () => {
      renameSync(temporary, file);
      syncFolderNow(dataDir);
    },
    discard: () => rmSync(temporary, { force: true }),
  };
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

export function isLoopback(host: string): boolean {
  const family = isIP(host);
  if (family === 0) return host.toLowerCase() === 'localhost';
  return loopback.check(host, family === 6 ? 'ipv6' : 'ipv4');
}

function weaknesses(tokens: TokensByRole): string[] {
  return ROLES.flatMap((role) =>
    tokens[role].flatMap((token) => {
      if (token.length < MIN_CHARS)
        return [
          `a ${role} token has ${token.length} characters, which can be guessed: use ${MIN_CHARS} or more`,
        ];
      const distinct = new Set(token).size;
      if (distinct >= MIN_DISTINCT_CHARS) return [];
      return [
        `a ${role} token has only ${distinct} different characters, which can be guessed: use random ones`,
      ];
    }),
  );
}

function storedOrMade(dataDir: string, random: RandomBytes): PreparedTokens {
  const file = tokensFile(dataDir);
  const stored = readTokens(file);
  if (stored) return { tokens: stored, made: false, warnings: [] };
  const made = writeTokens(dataDir, file, randomTokens(random), random);
  // Read back what is on disk, so that of two servers starting at once both serve the same tokens.
  const tokens = readTokens(file);
  if (!tokens) throw new ConfigError([`${file} vanished while Spine started: start it again`]);
  return { tokens, made, warnings: [] };
}

type OneByRole = Readonly<Record<Role, string>>;

function randomTokens(random: RandomBytes): OneByRole {
  const [head = '', left_claw = '', right_claw = ''] = ROLES.map(() =>
    Buffer.from(random(MADE_BYTES)).toString('base64url'),
  );
  return { head, left_claw, right_claw };
}

function byRole({ head, left_claw: left, right_claw: right }: OneByRole): TokensByRole {
  return { head: [head], left_claw: [left], right_claw: [right] };
}

/** Undefined when there is no such file; a file that others can read or steer is refused. */
export function readTokens(file: string): TokensByRole | undefined {
  const descriptor = openTokens(file);
  if (descriptor === undefined) return undefined;
  try {
    const status = fstatSync(descriptor);
    if (!status.isFile()) throw new ConfigError([`${file} is not a plain file: remove it`]);
    // Windows has no such bits and reports every file as open to all.
    if (process.platform !== 'win32' && (status.mode & 0o077) !== 0)
      throw new ConfigError([
        `${file} can be read by other users: chmod 600 it, or remove it to get new tokens`,
      ]);
    const tokens = parseTokens(readFileSync(descriptor, 'utf8'));
    if (!tokens) throw new ConfigError([`${file} is damaged: remove it to get new tokens`]);
    return tokens;
  } finally {
    closeSync(descriptor);
  }
}

function openTokens(file: string): number | undefined {
  try {
    // Without O_NONBLOCK a named pipe in this place would hold up the start for ever.
    return openSync(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException; // node:fs throws nothing else
    if (code === 'ENOENT') return undefined;
    if (code === 'ELOOP') throw new ConfigError([`${file} is a symbolic link: put the file itself there`]);
    throw new ConfigError([`${file} cannot be read (${message})`]);
  }
}

function parseTokens(text: string): TokensByRole | undefined {
  let stored: unknown;
  try {
    stored = JSON.parse(text);
  } catch {
    return undefined;
  }
  const tokens = ROLES.map((role) => (stored as Partial<Record<Role, unknown>> | null)?.[role]);
  if (!tokens.every((token) => typeof token === 'string' && /^[\w-]{24,512}$/.test(token))) return undefined;
  if (new Set(tokens).size < ROLES.length) return undefined;
  const [head, left_claw, right_claw] = tokens as [string, string, string];
  return byRole({ head, left_claw, right_claw });
}

/** Writes the file whole or not at all. False when another server was first, whose tokens then stand. */
function writeTokens(dataDir: string, file: string, tokens: OneByRole, random: RandomBytes): boolean {
  const temporary = writeBeside(dataDir, file, tokens, random);
  try {
    const first = linkUnlessThere(temporary, file);
    rmSync(temporary);
    syncFolderNow(dataDir);
    return first;
  } catch (error) {
    rmSync(temporary, { force: true });
    throw unwritable(file, error);
  }
}

function writeBeside(dataDir: string, file: string, tokens: OneByRole, random: RandomBytes): string {
  const temporary = `${file}.${Buffer.from(random(SUFFIX_BYTES)).toString('hex')}.tmp`;
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    writeFileSync(temporary, `${JSON.stringify(tokens, null, 2)}\n`, {
      mode: 0o600,
      flag: 'wx',
      flush: true,
    });
    return temporary;
  } catch (error) {
    rmSync(temporary, { force: true });
    throw unwritable(file, error);
  }
}

function unwritable(file: string, error: unknown): ConfigError {
  return new ConfigError([
    `${file} cannot be written (${(error as Error).message}): make it writable, or set HEAD_TOKEN yourself`,
  ]);
}

/** Unlike a rename, a link never replaces a file that another server put there meanwhile. */
function linkUnlessThere(temporary: string, file: string): boolean {
  try {
    linkSync(temporary, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
