/** What a person sees when the server is up. */

import type { App } from '../app.ts';
import type { Config } from '../config.ts';

export function greeting(app: App, config: Config): string[] {
  const store = config.databaseUrl === null ? `SQLite in ${config.dataDir}` : 'PostgreSQL';
  const lines = [`Spine is ready at ${app.url} (${store})`];
  if (app.tokensMade) {
    lines.push('', 'Tokens, shown once and kept in tokens.json in the data dir:');
    for (const [role, [token]] of Object.entries(app.tokens)) lines.push(`  ${role.padEnd(10)} ${token}`);
  }
  const [head] = app.tokens.head;
  if (head !== undefined) {
    // A configured token is the operator's own secret: it is named, never shown.
    const token = app.tokensMade ? head : '$HEAD_TOKEN';
    lines.push(
      '',
      'Create a job:',
      `  curl -s ${app.url}/jobs -H 'content-type: application/json' -H "authorization: Bearer ${token}" -d '{"spec":{"say":"hello"}}'`,
    );
  }
  return lines;
}
