/** Keeps the heap of a server in proportion to what it holds, not to the memory of the machine. */

import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** For new objects, both halves of it. Twice as much saves about two per cent of processor time under load. */
const YOUNG_BYTES = 32 * 1_048_576;
/** How much garbage may gather beside what is in use; left alone, V8 lets it be three times as much. */
const GARBAGE_PERCENT = 100;

/**
 * Left alone, V8 doubles the space for new objects under load until it holds 128 MB on a machine with much memory, most
 * of it garbage, and does not give it back. The limit itself can be set only when a process starts; what can be set at
 * any time is by how much the space grows. V8 makes it smaller when little happens, so it must be let grow again.
 */
export function boundHeap(): void {
  setFlagsFromString(`--heap-growing-percent=${GARBAGE_PERCENT}`);
  // V8 would make objects old from the start where most of their kind outlived one collection, as the rows of running
  // jobs do. They end soon after, and what dies among the old ones waits for a collection of everything.
  setFlagsFromString('--no-allocation-site-pretenuring');
  // Collecting new objects takes two or three milliseconds here. Helpers would make it little shorter, and take a tenth
  // of a processor from the threads that go on meanwhile.
  setFlagsFromString('--no-parallel-scavenge');
  let mayGrow = true;
  new PerformanceObserver(() => {
    if (mayGrow === youngBytes() < YOUNG_BYTES) return;
    mayGrow = !mayGrow;
    setFlagsFromString(`--semi-space-growth-factor=${mayGrow ? 2 : 1}`);
  }).observe({ entryTypes: ['gc'] });
}

function youngBytes(): number {
  return getHeapSpaceStatistics().find((space) => space.space_name === 'new_space')?.space_size ?? 0;
}
