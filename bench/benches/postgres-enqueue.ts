import type { Bench, Size } from '../bench.ts';
import type { QueueName } from '../queues.ts';

export function postgresEnqueue(size: Size): Bench {
  const entrant = (queue: QueueName) => ({
    name: queue,
    phase: { phase: 'enqueue', queue, width: 50, ms: size.ms(2_000) } as const,
  });
  return {
    name: 'postgres-enqueue',
    title: 'PostgreSQL: enqueue one job a call, 50 calls in flight',
    store: 'postgres',
    entrants: [entrant('Spine'), entrant('graphile'), entrant('pg-boss'), entrant('raw pg')],
    bars: [
      { ours: 'Spine', theirs: 'graphile', measure: 'enqueue', atLeast: 4 },
      { ours: 'Spine', theirs: 'pg-boss', measure: 'enqueue', atLeast: 4 },
      { ours: 'Spine', theirs: 'raw pg', measure: 'enqueue', atLeast: 0, goal: 1 },
    ],
  };
}
