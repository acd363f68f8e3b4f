/**
 * The programs of `test/verifiers`. They stand apart from our own packages, as one of them needs an older compiler than ours,
 * and so that who only wants to run Spine fetches none of them.
 */

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const NAMED = join(import.meta.dirname, '../verifiers');
const CACHE = resolve('.cache');
/** Fifteen seconds on a machine that has nothing else to do. */
const INSTALL_LIMIT_MS = 4 * 60_000;

/** What a test that may be the first to need them has to be given. */
export const VERIFIED_WITHIN_MS = INSTALL_LIMIT_MS + 60_000;

/** The folder in which they are installed, once for each lock, or why there is none. */
export async function verifiers(): Promise<{ readonly folder: string } | { readonly missing: string }> {
  const lock = readFileSync(join(NAMED, 'package-lock.json'));
  const sum = createHash('sha256').update(lock).digest('hex').slice(0, 16);
  const folder = join(CACHE, `verifiers-${sum}`);
  if (existsSync(folder)) return { folder };
  await mkdir(CACHE, { recursive: true });
  // A folder of its own, so that an install that broke off or runs twice leaves no half of one.
  const part = await mkdtemp(join(CACHE, 'installing-'));
  try {
    await cp(NAMED, part, { recursive: true });
    const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund'];
    await run('npm', args, { cwd: part, timeout: INSTALL_LIMIT_MS });
    await rename(part, folder);
    return { folder };
  } catch (error) {
    // Another test file was first.
    if (existsSync(folder)) return { folder };
    return {
      missing: `the verifiers could not be installed: ${error instanceof Error ? error.message : String(error)}`,
    };
  } finally {
    await rm(part, { recursive: true, force: true });
  }
}
