/** A copy of the sources to plant bugs in, so that nothing in the checkout is ever wrong. */

import { chmod, cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { type Mutant, planted } from './mutant.ts';

export const ROOT = join(import.meta.dirname, '../..');
/** What no test reads, and what is linked instead. */
const LEFT_OUT = ['node_modules', '.git', '.cache', 'dist', 'data', 'bench/node_modules'];

export interface Copy extends AsyncDisposable {
  readonly folder: string;
  /** Runs `work` while the bug is in the copy. */
  plant<T>(mutant: Mutant, work: () => Promise<T>): Promise<T>;
}

export async function copySources(): Promise<Copy> {
  const folder = await mkdtemp(join(tmpdir(), 'spine-mutants-'));
  // As root a PostgreSQL of a test's own runs as nobody, who must be able to come to its place in here.
  await chmod(folder, 0o711);
  const isKept = (path: string): boolean => !LEFT_OUT.includes(relative(ROOT, path));
  await cp(ROOT, folder, { recursive: true, filter: isKept });
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return {
    folder,
    plant: async (mutant, work) => {
      const file = join(folder, mutant.file);
      const original = await readFile(file, 'utf8');
      await writeFile(file, planted(original, mutant));
      try {
        return await work();
      } finally {
        await writeFile(file, original);
      }
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
