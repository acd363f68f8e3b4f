import type { Bench, Size } from '../bench.ts';
import type { QueueName } from '../queues.ts';

export function postgresDrainBatches(size: Size): Bench {
  const entrant = (queue: QueueName) => ({
    name: queue,
    phase: { phase: 'drain', queue, jobs: size.jobs(120_000) } as const,
  });
  return {
    name: 'postgres-drain-batches',
    title: 'PostgreSQL: drain in batches, one process',
    store: 'postgres',
    entrants: [entrant('Spine in batches'), entrant('pg-boss'), entrant('graphile')],
    bars: [
      { ours: 'Spine in batches', theirs: 'pg-boss', measure: 'drain', atLeast: 1 },
      { ours: 'Spine in batches', theirs: 'graphile', measure: 'drain', atLeast: 0.75, goal: 1 },
    ],
  };
}
