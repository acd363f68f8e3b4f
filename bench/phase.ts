/** One measurement in a process of its own, so that nothing of the one before lives on. Prints one line of JSON. */

import { Client } from 'pg';
import { Missing } from './peers/missing.ts';
import { backlog, type BacklogOptions } from './phases/backlog.ts';
import { drain, type DrainOptions } from './phases/drain.ts';
import { enqueue, type EnqueueOptions } from './phases/enqueue.ts';
import { latency, type LatencyOptions } from './phases/latency.ts';
import { lifecycle, type LifecycleOptions } from './phases/lifecycle.ts';
import { memory, type MemoryOptions } from './phases/memory.ts';
import { payloadSize, type PayloadOptions } from './phases/payload.ts';
import { servers, type ServersOptions } from './phases/servers.ts';
import type { Place } from './queue.ts';
import { type QueueName, QUEUES } from './queues.ts';

export type Phase =
  | ({ readonly phase: 'enqueue'; readonly queue: QueueName } & EnqueueOptions)
  | ({ readonly phase: 'drain'; readonly queue: QueueName } & DrainOptions)
  | ({ readonly phase: 'servers' } & ServersOptions)
  | ({ readonly phase: 'payload' } & PayloadOptions)
  | ({ readonly phase: 'backlog' } & BacklogOptions)
  | ({ readonly phase: 'latency' } & LatencyOptions)
  | ({ readonly phase: 'lifecycle' } & LifecycleOptions)
  | ({ readonly phase: 'memory' } & MemoryOptions);

export interface Measured {
  /** By what was measured, in the unit of the bench: mostly so many a second. */
  readonly rates: Readonly<Record<string, number>>;
  /** What was wrong with the work that was done; such a rate means nothing. */
  readonly problem: string | null;
  /** Why nothing was measured. */
  readonly skipped?: string;
}

async function measure(phase: Phase, place: Place): Promise<Measured> {
  const settle = () => settled(place);
  switch (phase.phase) {
    case 'servers':
      return servers(place, phase, settle);
    case 'payload':
      return payloadSize(place, phase, settle);
    case 'backlog':
      return backlog(place, phase);
    case 'latency':
      return latency(place, phase);
    case 'lifecycle':
      return lifecycle(place, phase);
    case 'memory':
      return memory(place, phase);
    case 'enqueue':
    case 'drain': {
      const queue = await QUEUES[phase.queue](place);
      return phase.phase === 'enqueue' ? enqueue(queue, phase) : drain(queue, phase, settle);
    }
  }
}

/** Everybody starts with fresh statistics and nothing left to write back. */
async function settled({ url }: Place): Promise<void> {
  if (url === null) return;
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query('vacuum analyze');
  await client.query('checkpoint');
  await client.end();
}

if (import.meta.main) {
  const { phase, place } = JSON.parse(process.argv[2] ?? '') as { phase: Phase; place: Place };
  const measured = await measure(phase, place).catch((error: unknown): Measured => {
    if (error instanceof Missing) return { rates: {}, problem: null, skipped: error.message };
    throw error;
  });
  // Some peers take seconds to let go; what was measured is complete, and the place is thrown away.
  process.stdout.write(`${JSON.stringify(measured)}\n`, () => process.exit(0));
}
