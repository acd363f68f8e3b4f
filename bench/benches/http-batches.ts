import type { Bench, Size } from '../bench.ts';
import type { QueueName } from '../queues.ts';

export function httpBatches(size: Size): Bench {
  const entrant = (queue: QueueName) => ({
    name: queue,
    phase: { phase: 'drain', queue, jobs: size.jobs(120_000) } as const,
  });
  const ours = 'Spine over HTTP, in hundreds';
  const fused = 'Spine over HTTP, in hundreds, fused';
  return {
    name: 'http-batches',
    title:
      'HTTP on SQLite: claim 100, complete 100, 8 connections; fused, the call that completes asks for the next 100',
    store: 'postgres',
    entrants: [
      entrant(ours),
      entrant(fused),
      entrant('graphile'),
      entrant('BullMQ on Redis'),
      entrant('beanstalkd, in memory'),
    ],
    bars: [
      { ours: fused, theirs: 'graphile', measure: 'drain', atLeast: 1, goal: 2 },
      { ours: fused, theirs: 'BullMQ on Redis', measure: 'drain', atLeast: 2 },
      { ours: fused, theirs: 'beanstalkd, in memory', measure: 'drain', atLeast: 0 },
      { ours: fused, theirs: ours, measure: 'drain', atLeast: 0 },
    ],
  };
}
