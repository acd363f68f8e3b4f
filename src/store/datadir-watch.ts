/** Whether the files that a server has open are still the ones that stand in its data dir. */

import { lstatSync, type Stats, statSync } from 'node:fs';
import { DataDirError } from './datadir-files.ts';

/** Looks again at what stood there at the call. */
export type Look = () => DataDirError | null;

export function rememberFiles(paths: readonly string[]): Look {
  return remember(paths, statSync);
}

/** Clocks of folders tick every few milliseconds: of two changes within a tick the second leaves no trace. */
const RACY_MS = 100;
/** On some disks they tick every second or every other, and tell whole ones. */
const COARSE_RACY_MS = 2_100;
/** Over a network the clock of a folder may not be ours. */
const FILES_EVERY = 16;

/**
 * For plain files of one folder that are looked at with every commit. Whoever deletes, moves or replaces one of them changes
 * the folder, so mostly only that is looked at, once its last change is a while ago. To ask for the times of a file that is
 * being written has its next write note the time anew, and each commit sync that too: with it a commit takes 250 µs and
 * without 215, and a drain one by one is 10 % slower (`embedded-drain`), side by side on a shared 2-core machine.
 */
export function rememberByFolder(folder: string, paths: readonly string[], wallMs: () => number): Look {
  // Not what a link leads to: a file that was moved and left a link behind could go without a change of this folder.
  const lookAtFiles = remember(paths, lstatSync);
  let known: string | null = null;
  let looks = 0;
  return () => {
    const found = statOf(folder, statSync);
    const now = found && `${markOf(found)}:${found.mtimeMs}`;
    if (now !== null && now === known && ++looks % FILES_EVERY !== 0) return null;
    const lost = lookAtFiles();
    const isAtRest = found !== null && wallMs() - found.mtimeMs > racyMs(found.mtimeMs);
    known = lost === null && isAtRest ? now : null;
    return lost;
  };
}

function racyMs(changedMs: number): number {
  return changedMs % 1_000 === 0 ? COARSE_RACY_MS : RACY_MS;
}

type Stat = (path: string, options: { throwIfNoEntry: false }) => Stats | undefined;

function remember(paths: readonly string[], stat: Stat): Look {
  const known = paths.map((path) => ({ path, mark: markOf(statOf(path, stat)) }));
  return () => {
    for (const { path, mark } of known) if (markOf(statOf(path, stat)) !== mark) return moved(path);
    return null;
  };
}

/** One that cannot be reached, for whatever reason, is as good as gone. */
function statOf(path: string, stat: Stat): Stats | null {
  try {
    return stat(path, { throwIfNoEntry: false }) ?? null;
  } catch {
    return null;
  }
}

/** Which file it is. */
function markOf(found: Stats | null): string | null {
  return found && `${found.dev}:${found.ino}`;
}

function moved(path: string): DataDirError {
  return new DataDirError(
    `${path} was deleted, moved or replaced under the running server; stopping, because nothing written from now on would last. Put the data dir back as it was, or restore a backup, and start again.`,
  );
}
