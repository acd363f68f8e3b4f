/** What `npm pack` makes of these sources: once for a test file, in a clone that has its own packages. */

import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { freshClone } from './clone.ts';

const REPO = join(import.meta.dirname, '../..');

export interface Packed {
  /** The clone in which it was packed. */
  readonly clone: string;
  /** The tarball. */
  readonly file: string;
  readonly remove: () => void;
}

export function packed(): Packed {
  const clone = freshClone();
  const modules = join(clone, 'node_modules');
  rmSync(modules);
  mkdirSync(modules);
  symlinkSync(join(REPO, 'node_modules/.bin'), join(modules, '.bin'));
  for (const { path, dev } of installed()) {
    mkdirSync(dirname(join(clone, path)), { recursive: true });
    // npm packs no links, and what is only for development it does not pack.
    if (dev) symlinkSync(join(REPO, path), join(clone, path));
    else cpSync(join(REPO, path), join(clone, path), { recursive: true });
  }
  const args = ['pack', '--silent'];
  const name = execFileSync('npm', args, { cwd: clone, env: plainEnvironment(clone), encoding: 'utf8' });
  return {
    clone,
    file: join(clone, name.trim().split('\n').at(-1) ?? ''),
    remove: () => rmSync(clone, { recursive: true, force: true, maxRetries: 5 }),
  };
}

/** Without npm's own variables, which name this repository. */
export function plainEnvironment(home: string): Record<string, string> {
  return { PATH: process.env['PATH'] ?? '', HOME: home, npm_config_update_notifier: 'false' };
}

interface Locked {
  readonly dev?: boolean;
}

/** The packages at the top of node_modules; what lies within them comes along. */
function installed(): { path: string; dev: boolean }[] {
  const lock = JSON.parse(readFileSync(join(REPO, 'node_modules/.package-lock.json'), 'utf8')) as {
    packages: Readonly<Record<string, Locked>>;
  };
  return Object.entries(lock.packages)
    .filter(([path]) => path.lastIndexOf('node_modules/') === 0)
    .map(([path, { dev = false }]) => ({ path, dev: dev || path.startsWith('node_modules/node-') }));
}
