import type { Bench, Size } from '../bench.ts';
import type { QueueName } from '../queues.ts';

export function embeddedEnqueue(size: Size): Bench {
  const entrant = (queue: QueueName) => ({
    name: queue,
    phase: { phase: 'enqueue', queue, width: 50, ms: size.ms(2_000) } as const,
  });
  return {
    name: 'embedded-enqueue',
    title: 'SQLite: enqueue one job a call, 50 calls in flight',
    store: 'sqlite',
    entrants: [entrant('Spine'), entrant('plainjob FULL'), entrant('plainjob NORMAL')],
    bars: [
      { ours: 'Spine', theirs: 'plainjob FULL', measure: 'enqueue', atLeast: 4 },
      { ours: 'Spine', theirs: 'plainjob NORMAL', measure: 'enqueue', atLeast: 0.8, goal: 2 },
    ],
  };
}
