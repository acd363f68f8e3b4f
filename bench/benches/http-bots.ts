import type { Bench, Size } from '../bench.ts';
import type { QueueName } from '../queues.ts';

export function httpBots(size: Size): Bench {
  const entrant = (queue: QueueName, jobs: number) => ({
    name: queue,
    phase: { phase: 'drain', queue, jobs: size.jobs(jobs) } as const,
  });
  const theirs = 'Spine over HTTP';
  return {
    name: 'http-bots',
    title: 'HTTP on SQLite, other doors beside the native one: claim one, complete one, 32 connections',
    store: 'sqlite',
    entrants: [entrant(theirs, 10_000), entrant('Spine, bots', 10_000), entrant('Spine, bridge', 10_000)],
    bars: [
      { ours: 'Spine, bots', theirs, measure: 'drain', atLeast: 0.7 },
      { ours: 'Spine, bridge', theirs, measure: 'drain', atLeast: 0 },
    ],
  };
}
