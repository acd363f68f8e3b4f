/** The tokens of this server: of its settings, of its data dir, or of the database that it shares with other servers. */

import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { type Config, ConfigError, type TokensByRole } from '../config.ts';
import type { Core } from '../engine/core.ts';
import { areFirstTokens, keepFirstTokens, type TokenOfRole } from '../engine/first-tokens.ts';
import { FIRST_ROLES } from '../domain/token.ts';
import { isLoopback, madeTokens, type PreparedTokens, readTokens, tokensFile } from '../tokens.ts';

/** Where somebody finds them: in the settings, in the data dir, or in the data dir of another server. */
export type TokenPlace = 'settings' | 'here' | { readonly elsewhere: string | null };

export interface ServerTokens {
  /** Known at once, for as long as this server runs. The others are in the database, by their hashes. */
  readonly known: TokensByRole;
  /** Made by this start: the moment to show them. */
  readonly fresh: TokensByRole | null;
  readonly place: TokenPlace;
  readonly warnings: readonly string[];
}

const NONE: TokensByRole = { head: [], left_claw: [], right_claw: [] };

/** What this server knows by itself; on a database of its own that is everything. */
export function ownTokens(config: Config, { tokens, made, warnings }: PreparedTokens): ServerTokens {
  const isConfigured = Object.values(config.tokens).some((list) => list.length > 0);
  return { known: tokens, fresh: made ? tokens : null, place: isConfigured ? 'settings' : 'here', warnings };
}

/** Servers whose settings name no tokens have those of the database. The first of them makes them. */
export async function sharedTokens(config: Config, core: Core): Promise<ServerTokens> {
  const file = tokensFile(config.dataDir);
  let prepared: PreparedTokens | null = null;
  const { made, place } = await keepFirstTokens(core, placeOf(config), () => {
    if (!isLoopback(config.host)) throw noTokensYet(config.host);
    prepared = madeTokens(config, randomBytes);
    return oneOfEach(prepared.tokens);
  });
  const shared = { known: NONE, fresh: null, warnings: [] };
  if (made) return { ...shared, fresh: freshOf(prepared), place: 'here' };
  const stored = readTokens(file);
  if (stored === undefined) return { ...shared, place: { elsewhere: place } };
  if (await areFirstTokens(core, stored)) return { ...shared, place: 'here' };
  const warnings = [
    `The tokens in ${file} are not, or no longer, those of this installation: none of its servers takes them.`,
  ];
  return { ...shared, place: { elsewhere: place }, warnings };
}

/** Where the settings name tokens, those that were made before still count: nobody is to learn that by surprise. */
export async function alsoValid(core: Core): Promise<readonly string[]> {
  const names: readonly string[] = Object.values(FIRST_ROLES).map(({ name }) => name);
  const tokens = (await core.tokens.list()).filter(({ name }) => names.includes(name));
  return tokens.map(
    ({ name }) =>
      `Beside the tokens of the settings, the one called ${name} counts; to end it: npx spine token revoke ${name}`,
  );
}

export function placeOf(config: Config): string {
  return `${hostname()}:${resolve(tokensFile(config.dataDir))}`;
}

export function oneOfEach({ head, left_claw: left, right_claw: right }: TokensByRole): TokenOfRole {
  return { head: head[0] ?? '', left_claw: left[0] ?? '', right_claw: right[0] ?? '' };
}

/** A file that a start before this one left was shown by that one. */
function freshOf(prepared: PreparedTokens | null): TokensByRole | null {
  return prepared?.made === true ? prepared.tokens : null;
}

function noTokensYet(host: string): ConfigError {
  return new ConfigError([
    `SPINE_HOST=${host} can be reached from other machines, and this installation has no tokens yet: ` +
      'make them with `npx spine token renew`, or set HEAD_TOKEN to at least 24 random characters (openssl rand -base64 32)',
  ]);
}
