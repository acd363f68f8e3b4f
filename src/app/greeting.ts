/** What a person sees when the server is up. */

import type { App } from '../app.ts';
import { type Config, SETTINGS, type TokensByRole } from '../config.ts';
import { tokensFile } from '../tokens.ts';
import type { TokenPlace } from './server-tokens.ts';

type Greeted = Pick<App, 'url' | 'tokens'>;

/** Fresh tokens are shown to a person at a terminal only: what goes anywhere else is kept, in the logs of a service above all. */
export function greeting({ url, tokens }: Greeted, config: Config, terminal: boolean): string[] {
  const store = config.databaseUrl === null ? `SQLite in ${config.dataDir}` : 'PostgreSQL';
  const shown = terminal ? tokens.fresh : null;
  return [
    `Spine is ready at ${url} (${store})`,
    ...(shown === null ? whereLines(tokens.place, config) : tokenLines(shown, config)),
    '',
    ...(shown === null ? commandLines(tokens.place, config) : curlLines(url, shown)),
  ];
}

function tokenLines(fresh: TokensByRole, config: Config): string[] {
  const lines = Object.entries(fresh).map(([role, [token]]) => `  ${role.padEnd(10)} ${token}`);
  return ['', `Tokens, shown once and kept in ${tokensFile(config.dataDir)}:`, ...lines];
}

/** A configured token is the operator's own secret, and where it stands is known. */
function whereLines(place: TokenPlace, config: Config): string[] {
  const file = tokensFile(config.dataDir);
  if (place === 'settings') return [];
  if (place === 'here') return [`The tokens are in ${file}, which only its owner may read.`];
  const lost = 'npx spine token renew, where DATABASE_URL is set, makes new ones and ends the old.';
  if (place.elsewhere === null) return ['The tokens are those of this database.', `Lost them? ${lost}`];
  return [
    `The tokens are those of this database; they were written down when they were made, in ${place.elsewhere}`,
    `To use them here, copy that file to ${file}, mode 600. Lost them? ${lost}`,
  ];
}

function curlLines(url: string, { head: [token] }: TokensByRole): string[] {
  return [
    'Create a job:',
    `  curl -s ${url}/jobs -H 'content-type: application/json' -H "authorization: Bearer ${token}" -d '{"spec":{"say":"hello"}}'`,
  ];
}

/** Finds the server and its token by itself, so that it works as it is printed. */
function commandLines(place: TokenPlace, config: Config): string[] {
  const where = config.dataDir === SETTINGS.dataDir.default ? '' : ` --data-dir ${quoted(config.dataDir)}`;
  return [`${headingOf(place)}:`, `  npx spine jobs add "Say hello"${where}`];
}

function headingOf(place: TokenPlace): string {
  if (place === 'here') return 'Create a job';
  return place === 'settings'
    ? 'Create a job, where the same tokens are set'
    : 'Create a job, with those tokens here, or with SPINE_TOKEN set';
}

function quoted(path: string): string {
  return /^[\w./:\\-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
