import type { Bench, Size } from '../bench.ts';
import type { QueueName } from '../queues.ts';

export function httpEnqueue(size: Size): Bench {
  const entrant = (queue: QueueName) => ({
    name: queue,
    phase: { phase: 'enqueue', queue, width: 32, ms: size.ms(4_000) } as const,
  });
  const ours = 'Spine over HTTP';
  return {
    name: 'http-enqueue',
    title: 'HTTP on SQLite: POST /jobs at 32 connections, the peers with 32 calls in flight',
    store: 'postgres',
    entrants: [
      entrant(ours),
      entrant('graphile'),
      entrant('pg-boss'),
      entrant('BullMQ on PostgreSQL'),
      entrant('BullMQ on Redis'),
      entrant('beanstalkd, in memory'),
      entrant('bare Fastify'),
    ],
    bars: [
      { ours, theirs: 'graphile', measure: 'enqueue', atLeast: 5 },
      { ours, theirs: 'pg-boss', measure: 'enqueue', atLeast: 5 },
      { ours, theirs: 'BullMQ on PostgreSQL', measure: 'enqueue', atLeast: 0 },
      { ours, theirs: 'BullMQ on Redis', measure: 'enqueue', atLeast: 0 },
      { ours, theirs: 'beanstalkd, in memory', measure: 'enqueue', atLeast: 0 },
      { ours, theirs: 'bare Fastify', measure: 'enqueue', atLeast: 0, goal: 0.4 },
    ],
  };
}
