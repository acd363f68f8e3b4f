/** Programs of others that tests hold Spine against. On Debian, root may fetch one: the program alone, into a folder of ours. */

import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const KEPT = resolve('.cache/debian');
const FETCH_LIMIT_MS = 50_000;
/** Where Debian has programs of administrators. */
export const PATH = `${process.env['PATH']}:/usr/sbin`;

export type Program = { readonly path: string } | { readonly missing: string };

interface Origin {
  /** The package that has it, unless it has the program's name. */
  readonly of?: string;
  readonly folder?: 'usr/bin' | 'usr/sbin';
}

/** Its path, or why there is none. */
export async function program(
  name: string,
  { of = name, folder = 'usr/bin' }: Origin = {},
): Promise<Program> {
  if (spawnSync('sh', ['-c', `command -v ${name}`], { env: { PATH } }).status === 0) return { path: name };
  const kept = join(KEPT, name);
  if (existsSync(kept)) return { path: kept };
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get'))
    return { missing: `${name} is not there: on Debian it comes with the package ${of}` };
  const work = await mkdtemp(join(tmpdir(), `spine-${name}-`));
  try {
    await run('apt-get', ['download', of], { cwd: work, timeout: FETCH_LIMIT_MS });
    const [file = ''] = await readdir(work);
    await run('dpkg-deb', ['-x', file, 'all'], { cwd: work, timeout: FETCH_LIMIT_MS });
    await mkdir(KEPT, { recursive: true });
    const part = `${kept}.${process.pid}`;
    await run('cp', [join(work, 'all', folder, name), part]);
    await rename(part, kept);
    return { path: kept };
  } catch (error) {
    return {
      missing: `${name} could not be fetched: ${error instanceof Error ? error.message : String(error)}`,
    };
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
