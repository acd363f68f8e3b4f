/** Finds the server and a token: flags, then the environment, then what a server on this machine left in its data dir. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CliError, EXIT, usage } from './failure.ts';
import type { GlobalFlags, ServerSettings, TokenRole } from './host.ts';

export interface Found {
  readonly text: string;
  /** Who said so, in words that fit into a message. */
  readonly origin: string;
  /** It lies in the data dir, for whoever has no environment of ours. */
  readonly stored?: true;
}

export function findUrl(flags: GlobalFlags, settings: ServerSettings): Found {
  if (flags.url !== undefined) return { text: checkedUrl(flags.url), origin: '--url' };
  if (settings.url !== null) return { text: settings.url, origin: 'SPINE_URL' };
  const announced = readAnnounced(settings.dataDir);
  if (announced !== null) return announced;
  const host = settings.host.includes(':') ? `[${settings.host}]` : settings.host;
  return { text: `http://${host}:${settings.port}`, origin: 'the settings' };
}

function checkedUrl(url: string): string {
  if (/^https?:\/\//.test(url) && URL.canParse(url)) return url;
  throw usage(`--url must be an http or https address, not ${JSON.stringify(url)}.`);
}

/** A file that a killed server left behind names a port that may be somebody else's by now, and must not get our token. */
function readAnnounced(dataDir: string): Found | null {
  const file = join(dataDir, 'server.json');
  const { url, pid } = (readJson(file) ?? {}) as { url?: unknown; pid?: unknown };
  if (typeof url !== 'string' || typeof pid !== 'number' || !isAlive(pid)) return null;
  return { text: url, origin: file };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Somebody else's process is alive too.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Null when nobody gave one. The roles are tried in order; they only matter for tokens found on this machine. */
export function findToken(
  flags: GlobalFlags,
  settings: ServerSettings,
  url: string,
  roles: readonly TokenRole[],
): Found | null {
  const found = lookForToken(flags, settings, url, roles);
  // Such a header could not even be sent.
  if (found !== null && !/^[\x21-\x7e]+$/.test(found.text))
    throw usage(`The token from ${found.origin} holds characters that no token has.`);
  return found;
}

function lookForToken(
  flags: GlobalFlags,
  settings: ServerSettings,
  url: string,
  roles: readonly TokenRole[],
): Found | null {
  if (flags.token !== undefined) return { text: flags.token, origin: '--token' };
  if (settings.token !== null) return { text: settings.token, origin: 'SPINE_TOKEN' };
  const file = join(settings.dataDir, 'tokens.json');
  // What was made for the server of this machine is not for any other.
  const isOurs = isHere(url) || readAnnounced(settings.dataDir)?.text === url;
  const stored = ((isOurs && readJson(file)) || {}) as Record<string, unknown>;
  for (const role of flags.as === undefined ? roles : [flags.as]) {
    const [configured] = settings.tokens[role];
    if (configured !== undefined) return { text: configured, origin: envName(role) };
    const made = stored[role.replace('-', '_')];
    if (typeof made === 'string') return { text: made, origin: file, stored: true };
  }
  return null;
}

function isHere(url: string): boolean {
  return /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(new URL(url).hostname);
}

function envName(role: TokenRole): string {
  return `${role.toUpperCase().replace('-', '_')}_TOKEN`;
}

function readJson(file: string): object | null {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException; // node:fs throws nothing else
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EACCES') return null;
    throw new CliError(EXIT.config, 'config', `${file} cannot be read (${message}).`);
  }
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
}
