import type { Bench, Size } from '../bench.ts';
import type { QueueName } from '../queues.ts';

export function embeddedDrain(size: Size): Bench {
  const entrant = (queue: QueueName, jobs: number) => ({
    name: queue,
    phase: { phase: 'drain', queue, jobs: size.jobs(jobs) } as const,
  });
  return {
    name: 'embedded-drain',
    title: 'SQLite: claim one, complete one, 50 in flight',
    store: 'sqlite',
    entrants: [entrant('Spine', 50_000), entrant('plainjob FULL', 5_000), entrant('plainjob NORMAL', 20_000)],
    bars: [
      { ours: 'Spine', theirs: 'plainjob FULL', measure: 'drain', atLeast: 6 },
      { ours: 'Spine', theirs: 'plainjob NORMAL', measure: 'drain', atLeast: 1.5, goal: 3 },
    ],
  };
}
