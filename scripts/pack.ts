/**
 * Around `npm pack` and `npm publish`: package.json is for a clone, and what is published says other things. It brings the
 * packages it needs along, in the versions that were tested, so that installing it asks nobody and changes nothing else in
 * its user's project; it has no scripts, and no Node, which the launcher finds or fetches.
 */

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const at = (name: string): string => fileURLToPath(new URL(`../${name}`, import.meta.url));
const MANIFEST = at('package.json');
const KEPT = at('package.json.kept');

const FOR_CLONES = new Set([
  'scripts',
  'devDependencies',
  'optionalDependencies',
  'overrides',
  'allowScripts',
]);

// One that is left from a pack that was cut off is the real one.
if (existsSync(KEPT)) renameSync(KEPT, MANIFEST);
if (!process.argv.includes('--restore')) {
  const text = readFileSync(MANIFEST, 'utf8');
  writeFileSync(KEPT, text);
  writeFileSync(MANIFEST, `${JSON.stringify(published(JSON.parse(text) as Manifest), null, 2)}\n`);
} else removeBuild();

/** What was built to be packed would from now on be run in place of the sources; the client stays, as `npm ci` makes it. */
function removeBuild(): void {
  for (const name of readdirSync(at('dist')))
    if (!name.startsWith('client')) rmSync(at(`dist/${name}`), { recursive: true });
}

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

function published(manifest: Manifest): object {
  const kept = Object.fromEntries(Object.entries(manifest).filter(([field]) => !FOR_CLONES.has(field)));
  const url = publicAddress();
  return {
    ...kept,
    ...(url !== null && { repository: { type: 'git', url } }),
    bundleDependencies: Object.keys(manifest.dependencies),
  };
}

/** Where the clone came from, when that is a place that others can reach too; never with a password in it. */
function publicAddress(): string | null {
  const { stdout } = spawnSync('git', ['remote', 'get-url', 'origin'], { cwd: at('.'), encoding: 'utf8' });
  const [, host, path] =
    /^(?:https:\/\/(?:[^@/]+@)?|ssh:\/\/git@|git@)([\w.-]+\.[a-z]+)[/:](.+?)(?:\.git)?\s*$/.exec(
      stdout ?? '',
    ) ?? [];
  return host === undefined ? null : `git+https://${host}/${path}.git`;
}
