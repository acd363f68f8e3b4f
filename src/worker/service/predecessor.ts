/** Whether the process that had a slot before is gone, as far as this machine can tell. */

import { readFileSync } from 'node:fs';
import type { SlotFacts } from './bridge-calls.ts';

/** The instance that is known to be gone, or null: then only its silence will tell. */
export function goneInstance({ metadata, status }: SlotFacts, host: string): string | null {
  const { instance, workerPid } = metadata;
  if (status === 'offline' || typeof instance !== 'string' || metadata['host'] !== host) return null;
  return typeof workerPid === 'number' && isWorker(workerPid) ? null : instance;
}

/** The number may be another program's by now; of one that has ended and is not collected yet nothing can be read. */
function isWorker(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // Another user's process lives.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes('worker');
  } catch {
    // Where the system does not say, a process that lives may be the worker.
    return true;
  }
}
