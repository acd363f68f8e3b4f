/** OpenClaw itself, installed once for all runs, outside of this repository. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const OPENCLAW_VERSION = '2026.9.6';

/** Where the script is that a `node` runs as `openclaw`. */
export function openclawScript(): string {
  return join(cache(), OPENCLAW_VERSION, 'node_modules/openclaw/openclaw.mjs');
}

/** Takes about a minute and 700 MB the first time. */
export async function installOpenclaw(): Promise<void> {
  if (await exists(openclawScript())) return;
  await mkdir(cache(), { recursive: true });
  // A folder of its own, so that an install that broke off or runs twice leaves no half of one.
  const folder = await mkdtemp(join(cache(), 'installing-'));
  try {
    await writeFile(join(folder, 'package.json'), '{"private":true}');
    await npmInstall(folder);
    await rename(folder, join(cache(), OPENCLAW_VERSION));
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    if (!(await exists(openclawScript()))) throw error;
  }
}

async function npmInstall(folder: string): Promise<void> {
  const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const npm = spawn('npm', [...args, `openclaw@${OPENCLAW_VERSION}`], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await once(npm, 'exit');
  if (npm.exitCode !== 0) throw new Error(`npm cannot install openclaw@${OPENCLAW_VERSION}`);
}

function cache(): string {
  return process.env['OPENCLAW_CACHE'] ?? join(tmpdir(), 'spine-openclaw');
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
