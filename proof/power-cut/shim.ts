/** Compiles the library that writes down what a server does to its files. */

import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const SOURCE = fileURLToPath(new URL('shim.c', import.meta.url));

/** Null when it was compiled into `file`; else why that is not possible here. */
export function compileShim(file: string): string | null {
  if (process.platform !== 'linux') return 'the files of a process can be watched this way on Linux only';
  try {
    execFileSync('cc', ['-shared', '-fPIC', '-O2', '-o', file, SOURCE, '-ldl', '-lpthread'], {
      stdio: 'pipe',
    });
    return null;
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    return missing ? 'there is no C compiler (apt-get install gcc libc6-dev)' : String(error);
  }
}
