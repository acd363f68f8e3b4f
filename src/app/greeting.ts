/** What a person sees when the server is up. */

import { join } from 'node:path';
import type { App } from '../app.ts';
import type { Config } from '../config.ts';
import { SETTINGS } from '../config.ts';

type Greeted = Pick<App, 'url' | 'tokens' | 'tokensMade'>;

/** Fresh tokens are shown to a person at a terminal only: what goes anywhere else is kept, in the logs of a service above all. */
export function greeting(app: Greeted, config: Config, terminal: boolean): string[] {
  const store = config.databaseUrl === null ? `SQLite in ${config.dataDir}` : 'PostgreSQL';
  const shown = app.tokensMade && terminal;
  return [
    `Spine is ready at ${app.url} (${store})`,
    ...(shown ? tokenLines(app, config) : whereLines(config)),
    '',
    ...(shown ? curlLines(app) : commandLines(config)),
  ];
}

function tokenLines({ tokens }: Greeted, config: Config): string[] {
  const lines = Object.entries(tokens).map(([role, [token]]) => `  ${role.padEnd(10)} ${token}`);
  return ['', `Tokens, shown once and kept in ${tokensFile(config)}:`, ...lines];
}

/** A configured token is the operator's own secret, and where it stands is known. */
function whereLines(config: Config): string[] {
  return isConfigured(config)
    ? []
    : [`The tokens are in ${tokensFile(config)}, which only its owner may read.`];
}

function curlLines({ url, tokens }: Greeted): string[] {
  const [token] = tokens.head;
  return [
    'Create a job:',
    `  curl -s ${url}/jobs -H 'content-type: application/json' -H "authorization: Bearer ${token}" -d '{"spec":{"say":"hello"}}'`,
  ];
}

/** Finds the server and its token by itself, so that it works as it is printed. */
function commandLines(config: Config): string[] {
  const where = config.dataDir === SETTINGS.dataDir.default ? '' : ` --data-dir ${quoted(config.dataDir)}`;
  const heading = isConfigured(config) ? 'Create a job, where the same tokens are set:' : 'Create a job:';
  return [heading, `  npx spine jobs add "Say hello"${where}`];
}

function isConfigured({ tokens }: Config): boolean {
  return Object.values(tokens).some((list) => list.length > 0);
}

function tokensFile({ dataDir }: Config): string {
  return join(dataDir, 'tokens.json');
}

function quoted(path: string): string {
  return /^[\w./:\\-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
