import type { Bench, Size } from '../bench.ts';
import type { QueueName } from '../queues.ts';

export function httpBatches(size: Size): Bench {
  const entrant = (queue: QueueName) => ({
    name: queue,
    phase: { phase: 'drain', queue, jobs: size.jobs(60_000) } as const,
  });
  const ours = 'Spine over HTTP, in hundreds';
  return {
    name: 'http-batches',
    title: 'HTTP on SQLite: claim 100, complete 100, 4 connections',
    store: 'postgres',
    entrants: [entrant(ours), entrant('graphile')],
    bars: [{ ours, theirs: 'graphile', measure: 'drain', atLeast: 1, goal: 2 }],
  };
}
