import type { Bench, Size } from '../bench.ts';
import type { QueueName } from '../queues.ts';

export function postgresDrainSingles(size: Size): Bench {
  const entrant = (queue: QueueName, jobs: number) => ({
    name: queue,
    phase: { phase: 'drain', queue, jobs: size.jobs(jobs) } as const,
  });
  return {
    name: 'postgres-drain-singles',
    title: 'PostgreSQL: claim one, complete one, 50 claimers',
    store: 'postgres',
    entrants: [entrant('Spine', 20_000), entrant('graphile unbatched', 6_000)],
    bars: [{ ours: 'Spine', theirs: 'graphile unbatched', measure: 'drain', atLeast: 3, goal: 6 }],
  };
}
