/** Whether a process group is gone: whoever begins the next task must not find the last one's programs at work. */

import { readdir, readFile } from 'node:fs/promises';
import { type Platform, sleep } from '../client/platform.ts';

const LOOK_MS = 20;
/** Killed processes are gone within a moment, unless the system itself holds one. */
const GONE_WITHIN_MS = 3_000;

/** Whether it was gone in time. */
export async function groupGone(platform: Platform, group: number): Promise<boolean> {
  for (let waitedMs = 0; waitedMs <= GONE_WITHIN_MS; waitedMs += LOOK_MS) {
    if (!exists(group) || (await livingOf(group)) === 0) return true;
    await sleep(platform, LOOK_MS);
  }
  return false;
}

function exists(group: number): boolean {
  try {
    return process.kill(-group, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** Those that have ended and that nobody has collected do nothing any more. Null where the system does not say. */
async function livingOf(group: number): Promise<number | null> {
  const names = await readdir('/proc').catch(() => null);
  if (names === null) return null;
  const pids = names.filter((name) => /^\d+$/.test(name));
  const stats = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')));
  return stats.filter((stat) => isLiving(stat, group)).length;
}

/** `pid (name) state parent group …`; the name may have anything in it. */
function isLiving(stat: string, group: number): boolean {
  const [state, , inGroup] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return Number(inGroup) === group && state !== 'Z' && state !== 'X';
}
