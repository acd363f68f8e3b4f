import type { Bench, Size } from '../bench.ts';
import type { QueueName } from '../queues.ts';

export function httpSingles(size: Size): Bench {
  const entrant = (queue: QueueName, jobs: number) => ({
    name: queue,
    phase: { phase: 'drain', queue, jobs: size.jobs(jobs) } as const,
  });
  const ours = 'Spine over HTTP';
  const fused = 'Spine over HTTP, fused';
  return {
    name: 'http-singles',
    title: 'HTTP on SQLite: claim one, complete one, 32 connections; fused, each complete asks for the next',
    store: 'postgres',
    entrants: [
      entrant(ours, 20_000),
      entrant(fused, 20_000),
      entrant('graphile unbatched', 6_000),
      entrant('BullMQ on PostgreSQL', 5_000),
    ],
    bars: [
      { ours, theirs: 'graphile unbatched', measure: 'drain', atLeast: 1.5, goal: 3 },
      { ours, theirs: 'BullMQ on PostgreSQL', measure: 'drain', atLeast: 1.5, goal: 3 },
      { ours: fused, theirs: ours, measure: 'drain', atLeast: 0 },
    ],
  };
}
