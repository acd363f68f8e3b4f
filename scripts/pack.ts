/**
 * Around `npm pack` and `npm publish`: package.json is for a clone, and what is published says other things. It brings the
 * packages it needs along, in the versions that were tested, so that installing it asks nobody and changes nothing else in
 * its user's project; it has no scripts, and no Node, which the launcher finds or fetches. README.md is read on registries'
 * pages as well: where it is known where the clone came from, its links lead there.
 */

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const at = (name: string): string => fileURLToPath(new URL(`../${name}`, import.meta.url));
const MANIFEST = at('package.json');
const README = at('README.md');
const CHANGED = [MANIFEST, README];

const FOR_CLONES = new Set([
  'scripts',
  'devDependencies',
  'optionalDependencies',
  'overrides',
  'allowScripts',
]);

// One that is left from a pack that was cut off is the real one.
for (const file of CHANGED) if (existsSync(`${file}.kept`)) renameSync(`${file}.kept`, file);
if (!process.argv.includes('--restore')) {
  const address = publicAddress();
  const manifest = JSON.parse(readFileSync(MANIFEST, 'utf8')) as Manifest;
  replace(MANIFEST, `${JSON.stringify(published(manifest, address), null, 2)}\n`);
  if (address !== null) replace(README, linkedTo(address, readFileSync(README, 'utf8')));
} else removeBuild();

function replace(file: string, text: string): void {
  renameSync(file, `${file}.kept`);
  writeFileSync(file, text);
}

/** What was built to be packed would from now on be run in place of the sources; the client stays, as `npm ci` makes it. */
function removeBuild(): void {
  for (const name of readdirSync(at('dist')))
    if (!name.startsWith('client')) rmSync(at(`dist/${name}`), { recursive: true });
}

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

function published(manifest: Manifest, address: string | null): object {
  const kept = Object.fromEntries(Object.entries(manifest).filter(([field]) => !FOR_CLONES.has(field)));
  return {
    ...kept,
    ...(address !== null && { repository: { type: 'git', url: `git+${address}.git` } }),
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
  return host === undefined ? null : `https://${host}/${path}`;
}

/** Pages as they are shown there, pictures as they are. */
function linkedTo(address: string, page: string): string {
  return page.replaceAll(
    /(!?)(\[[^\]]*\])\((?!https?:|#)([^)\s]+)\)/g,
    (_, picture: string, name: string, to: string) =>
      `${picture}${name}(${address}/${picture === '' ? 'blob' : 'raw'}/HEAD/${to})`,
  );
}
