/** The sources with one bug in them, to see that the harness would notice it. */

import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export interface Bug {
  readonly name: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

export const BUGS: readonly Bug[] = [
  {
    name: 'synchronous=normal',
    file: 'src/store/sqlite.ts',
    from: 'pragma synchronous = full;',
    to: 'pragma synchronous = normal;',
  },
  {
    name: 'a journal append that is not synced',
    file: 'src/files/journal-segments.ts',
    from: 'written += seal.length;\n      await handle.datasync();',
    to: 'written += seal.length;',
  },
  {
    name: 'an artifact that is not synced',
    file: 'src/blobs/disk.ts',
    from: 'await file.datasync();',
    to: '',
  },
];

/** Answers what to start. */
export function plant(bug: Bug, dir: string): string {
  for (const name of ['src', 'bin', 'package.json'])
    cpSync(path.join(ROOT, name), path.join(dir, name), { recursive: true });
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(dir, 'node_modules'));
  const file = path.join(dir, bug.file);
  const text = readFileSync(file, 'utf8');
  if (!text.includes(bug.from)) throw new Error(`${bug.file} has no "${bug.from}" any more`);
  writeFileSync(file, text.replace(bug.from, bug.to));
  return path.join(dir, 'bin', 'spine.cjs');
}
