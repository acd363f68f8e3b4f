/** Prometheus' own judge of metrics. On Debian, root may fetch it once: the program alone, without what its package needs. */

import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const KEPT = resolve('.cache/promtool/promtool');
const FETCH_LIMIT_MS = 50_000;

/** Its path, or why there is none. */
export async function promtool(): Promise<{ readonly path: string } | { readonly missing: string }> {
  if (spawnSync('promtool', ['--version']).status === 0) return { path: 'promtool' };
  if (existsSync(KEPT)) return { path: KEPT };
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get'))
    return { missing: 'promtool is not there: on Debian it comes with the package prometheus' };
  const folder = await mkdtemp(join(tmpdir(), 'spine-promtool-'));
  try {
    await run('apt-get', ['download', 'prometheus'], { cwd: folder, timeout: FETCH_LIMIT_MS });
    const [file = ''] = await readdir(folder);
    await run('dpkg-deb', ['-x', file, 'all'], { cwd: folder, timeout: FETCH_LIMIT_MS });
    await mkdir(dirname(KEPT), { recursive: true });
    const part = `${KEPT}.${process.pid}`;
    await run('cp', [join(folder, 'all/usr/bin/promtool'), part]);
    await rename(part, KEPT);
    return { path: KEPT };
  } catch (error) {
    return {
      missing: `promtool could not be fetched: ${error instanceof Error ? error.message : String(error)}`,
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
