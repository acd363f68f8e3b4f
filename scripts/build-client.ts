/**
 * Compiles the client to dist/, as modules and for `require`. `npm ci` does it in a clone, where the examples import the
 * client as its users do; `npm run build` does it for what is published.
 */

import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const at = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url));
const compiler = at('node_modules/typescript/bin/tsc');

// An installation without the tools of development has no compiler, and needs no examples.
if (existsSync(compiler)) {
  const results = ['tsconfig.client.json', 'tsconfig.commonjs.json'].map(
    (project) => spawnSync(process.execPath, [compiler, '-p', at(project)], { stdio: 'inherit' }).status ?? 1,
  );
  process.exitCode = Math.max(...results);
  // What says to Node and to TypeScript that the files there are CommonJS.
  if (process.exitCode === 0)
    writeFileSync(at('dist/client-commonjs/package.json'), '{ "type": "commonjs" }\n');
}
