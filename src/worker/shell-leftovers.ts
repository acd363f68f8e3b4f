/** Finds and ends what a run that died with its server left behind. */

import { readdir, readFile } from 'node:fs/promises';
import { type Platform, sleep } from '../client/platform.ts';

const KILL_AFTER_MS = 1_000;
/** Whoever comes next finds none of them: one that begins another as it dies is looked for again. */
const GIVE_UP_AFTER_MS = 2_000;
const LOOK_MS = 20;

/**
 * Every process that carries this id in its environment. A process number alone proves nothing: it may be
 * somebody else's by now. Where the system shows no environments, nothing is touched. Rejects while some are left.
 */
export async function killLeftovers(
  platform: Platform,
  id: string,
  variable = 'SPINE_RUN_ID',
): Promise<number> {
  const mark = `${variable}=${id}`;
  const found = await processesOf(mark);
  for (const pid of found) end(pid, 'SIGTERM');
  let left = found;
  for (let waitedMs = 0; left.length > 0 && waitedMs < GIVE_UP_AFTER_MS; waitedMs += LOOK_MS) {
    await sleep(platform, LOOK_MS);
    left = await processesOf(mark);
    if (waitedMs >= KILL_AFTER_MS) for (const pid of left) end(pid, 'SIGKILL');
  }
  if (left.length > 0) throw new Error(`Processes of ${id} could not be ended: ${left.join(', ')}.`);
  return found.length;
}

async function processesOf(mark: string): Promise<number[]> {
  const names = await readdir('/proc').catch(() => []);
  const pids = names.filter((name) => /^\d+$/.test(name)).map(Number);
  const carries = await Promise.all(pids.map((pid) => isOf(pid, mark)));
  return pids.filter((pid, at) => carries[at] === true && pid !== process.pid);
}

async function isOf(pid: number, mark: string): Promise<boolean> {
  // Gone meanwhile, or another user's: either way none of ours.
  const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
  return environment.split('\0').includes(mark);
}

function end(pid: number, signal: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
