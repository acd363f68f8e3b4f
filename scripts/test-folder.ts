/** The folder in which a run of the tests keeps everything that is thrown away afterwards. */
import { spawnSync } from 'node:child_process';
import { chmod, mkdtemp, readdir, rm, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** In memory no test waits for a disk that others use too. A disk that fails or is full is what proofs are for. */
const MEMORY = '/dev/shm';
/** A whole run takes about a quarter of it. */
const NEEDED_BYTES = 4 * 1024 ** 3;
const NAME = 'spine-tests-';

export interface TestFolder {
  readonly path: string;
  readonly remove: () => Promise<void>;
}

export async function openTestFolder(): Promise<TestFolder> {
  const place = (await hasRoom(MEMORY)) ? MEMORY : tmpdir();
  await removeAbandoned(place);
  const path = await mkdtemp(join(place, `${NAME}${process.pid}-`));
  const remove = (): Promise<void> => rm(path, { recursive: true, force: true, maxRetries: 5 });
  // PostgreSQL runs as another user when this one is root.
  await chmod(path, 0o711);
  if (place !== MEMORY || (await canRunPrograms(path))) return { path, remove };
  await remove();
  return { path: tmpdir(), remove: async () => {} };
}

async function hasRoom(place: string): Promise<boolean> {
  const { bavail, bsize } = await statfs(place).catch(() => ({ bavail: 0, bsize: 0 }));
  return bavail * bsize >= NEEDED_BYTES;
}

/** Some systems forbid it there, and tests write scripts to run them. */
async function canRunPrograms(path: string): Promise<boolean> {
  const script = join(path, 'program');
  await writeFile(script, '#!/bin/sh\n', { mode: 0o755 });
  return spawnSync(script).status === 0;
}

/** Of runs that were killed: what lies in memory is not given back by itself. */
async function removeAbandoned(place: string): Promise<void> {
  for (const name of await readdir(place)) {
    const pid = /^spine-tests-(\d+)-/.exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid)))
      await rm(join(place, name), { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // Somebody else's process is alive too.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
