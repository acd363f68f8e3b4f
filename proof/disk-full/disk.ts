import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** A place for data that can be made full and free again. */
export interface SmallDisk extends AsyncDisposable {
  readonly how: string;
  readonly dir: string;
  fill(pid: number): void;
  free(pid: number): void;
}

const DISK_MB = 48;
const CHUNKS = [1_048_576, 65_536, 4_096, 1];

/** A small tmpfs where we may mount one, else a limit on the size of files; or why neither is possible. */
export function smallDisk(): SmallDisk | string {
  if (process.platform !== 'linux')
    return 'it needs Linux, to mount a tmpfs or to set limits of a running process';
  return mounted() ?? limited() ?? 'neither a tmpfs can be mounted (only root may) nor prlimit is installed';
}

function mounted(): SmallDisk | undefined {
  const place = mkdtempSync(path.join(tmpdir(), 'spine-disk-'));
  const remove = (): void => rmSync(place, { recursive: true, force: true });
  const options = ['-t', 'tmpfs', '-o', `size=${DISK_MB}m`, 'tmpfs', place];
  if (spawnSync('mount', options).status !== 0) {
    remove();
    return undefined;
  }
  const ballast = path.join(place, 'ballast');
  return {
    how: `a tmpfs of ${DISK_MB} MB`,
    dir: path.join(place, 'data'),
    fill: () => writeUntilFull(ballast),
    free: () => rmSync(ballast, { force: true }),
    [Symbol.asyncDispose]: async () => {
      spawnSync('umount', ['-l', place]);
      remove();
    },
  };
}

/** To the last byte, so that not even a small write fits. */
function writeUntilFull(file: string): void {
  const fd = openSync(file, 'a');
  try {
    for (const size of CHUNKS) {
      const chunk = Buffer.alloc(size);
      while (fits(fd, chunk));
    }
  } finally {
    closeSync(fd);
  }
}

function fits(fd: number, chunk: Buffer): boolean {
  try {
    return writeSync(fd, chunk) === chunk.length;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return false;
    throw error;
  }
}

/** The soft limit may be raised again as long as the hard one is not touched. */
function limited(): SmallDisk | undefined {
  const limit = (pid: number, bytes: string): void => {
    const done = spawnSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:unlimited`], {
      encoding: 'utf8',
    });
    if (done.status !== 0) throw new Error(`prlimit failed: ${done.error?.message ?? done.stderr}`);
  };
  if (spawnSync('prlimit', ['--version']).status !== 0) return undefined;
  const dir = mkdtempSync(path.join(tmpdir(), 'spine-disk-'));
  return {
    how: 'a limit on the size of files',
    dir,
    fill: (pid) => limit(pid, '4096'),
    free: (pid) => limit(pid, 'unlimited'),
    [Symbol.asyncDispose]: async () => rmSync(dir, { recursive: true, force: true }),
  };
}
