import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Linux counts processor time in these. */
const TICKS_PER_SECOND = 100;

/** What a process takes of one core over the given time; undefined where the system does not tell. */
export async function coreShare(pid: number, overMs: number): Promise<number | undefined> {
  const fromMs = performance.now();
  const from = cpuTicks(pid);
  await sleep(overMs);
  const to = cpuTicks(pid);
  if (from === undefined || to === undefined) return undefined;
  return (to - from) / TICKS_PER_SECOND / ((performance.now() - fromMs) / 1_000);
}

function cpuTicks(pid: number): number | undefined {
  if (process.platform !== 'linux') return undefined;
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name before it may hold anything but a closing parenthesis at its end.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return Number(fields[11]) + Number(fields[12]);
}

/** What a process holds in memory, in MB; undefined where the system does not tell. */
export function residentMb(pid: number): number | undefined {
  if (process.platform !== 'linux') return undefined;
  const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return kilobytes === undefined ? undefined : Math.round((Number(kilobytes) * 1_024) / 1_000_000);
}
