import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const REPO = join(import.meta.dirname, '../..');

/** What is tracked or new here, with the installed packages: a clone after `npm ci`, which itself needs the registry. */
export function freshClone(): string {
  const folder = cloneWithoutPackages();
  symlinkSync(join(REPO, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

/** What is tracked or new here, and nothing else. */
export function cloneWithoutPackages(): string {
  const folder = mkdtempSync(join(tmpdir(), 'spine-clone-'));
  const list = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], {
    cwd: REPO,
    encoding: 'utf8',
  });
  for (const file of list.trim().split('\n')) {
    if (existsSync(join(REPO, file))) cpSync(join(REPO, file), join(folder, file));
  }
  return folder;
}
