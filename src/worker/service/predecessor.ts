/** Whether the process that had a slot before is gone, as far as this machine can tell. */

import { readFileSync, readlinkSync } from 'node:fs';
import type { SlotFacts } from './bridge-calls.ts';

/** Where a process runs and when it began: it tells its slot, and whoever comes next compares. */
export type WorkerProcess = {
  readonly host: string;
  readonly workerPid: number;
  /** This boot of the machine and, in a container, which one: two of them may say the same host. Null where the system does not say. */
  readonly workerPlace: string | null;
  /** Whose process numbers it counts in. */
  readonly workerPids: string | null;
  /** In the system's own ticks: a number of a process is used again. */
  readonly workerBegan: string | null;
};

export function thisProcess(host: string): WorkerProcess {
  const { pid } = process;
  return {
    host,
    workerPid: pid,
    workerPlace: placeHere(),
    workerPids: orNull(() => readlinkSync('/proc/self/ns/pid')),
    workerBegan: beganAt(pid),
  };
}

/** The instance that is known to be gone, or null: then only its silence will tell. */
export function goneInstance({ metadata, status }: SlotFacts, here: WorkerProcess): string | null {
  const { instance, host, workerPid, workerPlace, workerPids, workerBegan } = metadata;
  if (status === 'offline' || typeof instance !== 'string' || typeof workerPid !== 'number') return null;
  if (host !== here.host || workerPlace !== here.workerPlace) return null;
  // A container that was started again counts anew, and its last processes ended with it. Elsewhere nobody knows.
  if (workerPids !== here.workerPids) return isContainer(here) ? instance : null;
  const isSelf = workerPid === here.workerPid;
  return isSelf || !isWorker(workerPid, workerBegan) ? instance : null;
}

/** The number may be another program's by now; of one that has ended and is not collected yet nothing can be read. */
function isWorker(pid: number, began: unknown): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // Another user's process lives.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  const begins = beganAt(pid);
  // Where the system does not say, a process that lives may be the worker.
  return begins === null || (begins !== OVER && (typeof began !== 'string' || begins === began));
}

const OVER = 'over';

/** `pid (name) state …`, the name may have anything in it; of a process that has ended only its number is left. */
function beganAt(pid: number): string | null {
  const stat = orNull(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  if (stat === null) return null;
  const [state, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return state === 'Z' || state === 'X' ? OVER : (rest[BEGAN_AT] ?? null);
}

/** The 22nd field of all, counted from the one behind the state. */
const BEGAN_AT = 18;

/** What tells this place from others of the same name, also after it was started again: the container, or the machine. */
export function lastingPlace({ workerPlace, workerPids }: WorkerProcess): string {
  const container = workerPlace?.slice(workerPlace.indexOf(' ') + 1) ?? HOST_ONLY;
  if (container !== HOST_ONLY) return container;
  return `${orNull(() => readFileSync('/etc/machine-id', 'utf8').trim())} ${workerPids}`;
}

const HOST_ONLY = '';

/** A container has a file of hosts of its own, whose place is the same when it is started again. */
function placeHere(): string | null {
  const boot = orNull(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim());
  const mounts = orNull(() => readFileSync('/proc/self/mountinfo', 'utf8'));
  if (boot === null || mounts === null) return null;
  const hosts = mounts.split('\n').find((line) => line.split(' ')[4] === '/etc/hosts');
  return `${boot} ${hosts?.split(' ')[3] ?? HOST_ONLY}`;
}

function isContainer({ workerPlace }: WorkerProcess): boolean {
  return workerPlace !== null && !workerPlace.endsWith(` ${HOST_ONLY}`);
}

function orNull<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}
