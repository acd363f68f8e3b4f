/** Run by `npm ci` in a clone: the examples import the client as users do, from dist/. */

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const at = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url));
const compiler = at('node_modules/typescript/bin/tsc');

// An installation without the tools of development has no compiler, and needs no examples.
if (existsSync(compiler)) {
  const { status } = spawnSync(process.execPath, [compiler, '-p', at('tsconfig.client.json')], {
    stdio: 'inherit',
  });
  process.exitCode = status ?? 1;
}
