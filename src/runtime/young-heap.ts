/** Bounds the part of the heap where new objects live. */

import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** Both halves of it. Twice as much saves some per cent of processor time under load. */
const ENOUGH_BYTES = 32 * 1_048_576;

/**
 * Left alone, V8 doubles this part under load until it holds 128 MB on a machine with much memory, most of it garbage,
 * and does not give it back. The limit itself can be set only when a process starts; what can be set at any time is by
 * how much the part grows. V8 makes it smaller when little happens, so it must be let grow again afterwards.
 */
export function boundYoungHeap(): void {
  let mayGrow = true;
  new PerformanceObserver(() => {
    if (mayGrow === youngBytes() < ENOUGH_BYTES) return;
    mayGrow = !mayGrow;
    setFlagsFromString(`--semi-space-growth-factor=${mayGrow ? 2 : 1}`);
  }).observe({ entryTypes: ['gc'] });
}

function youngBytes(): number {
  return getHeapSpaceStatistics().find((space) => space.space_name === 'new_space')?.space_size ?? 0;
}
