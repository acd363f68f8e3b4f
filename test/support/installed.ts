/**
 * Packages that stand apart from our own, with locks of their own, so that who only wants to run Spine fetches none of them:
 * `verifiers`, programs that our description and our package are held against, one of which needs an older compiler than
 * ours; `nodes`, the Nodes that users have.
 */

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const CACHE = resolve('.cache');
/** Fifteen seconds on a machine that has nothing else to do. */
const INSTALL_LIMIT_MS = 4 * 60_000;

/** What a test that may be the first to need them has to be given. */
export const INSTALLED_WITHIN_MS = INSTALL_LIMIT_MS + 60_000;

export type Installed = { readonly modules: string } | { readonly missing: string };

/** The folder in which they are installed, once for each lock, or why there is none. */
export async function installed(set: 'verifiers' | 'nodes'): Promise<Installed> {
  const named = join(import.meta.dirname, '..', set);
  const lock = readFileSync(join(named, 'package-lock.json'));
  const sum = createHash('sha256').update(lock).digest('hex').slice(0, 16);
  const folder = join(CACHE, `${set}-${sum}`);
  const modules = join(folder, 'node_modules');
  if (existsSync(folder)) return { modules };
  await mkdir(CACHE, { recursive: true });
  // A folder of its own, so that an install that broke off or runs twice leaves no half of one.
  const part = await mkdtemp(join(CACHE, 'installing-'));
  try {
    await cp(named, part, { recursive: true });
    const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund'];
    await run('npm', args, { cwd: part, timeout: INSTALL_LIMIT_MS });
    await rename(part, folder);
    return { modules };
  } catch (error) {
    // Another test file was first.
    if (existsSync(folder)) return { modules };
    return {
      missing: `the ${set} could not be installed: ${error instanceof Error ? error.message : String(error)}`,
    };
  } finally {
    await rm(part, { recursive: true, force: true });
  }
}
