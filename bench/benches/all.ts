import type { Bench, Size } from '../bench.ts';
import { embeddedDrain } from './embedded-drain.ts';
import { embeddedEnqueue } from './embedded-enqueue.ts';
import { payloadSize } from './payload-size.ts';
import { postgresDrainBatches } from './postgres-drain-batches.ts';
import { postgresDrainSingles } from './postgres-drain-singles.ts';
import { postgresEnqueue } from './postgres-enqueue.ts';
import { postgresServers } from './postgres-servers.ts';

export function allBenches(size: Size): Bench[] {
  return [
    embeddedEnqueue(size),
    embeddedDrain(size),
    postgresEnqueue(size),
    postgresDrainBatches(size),
    postgresDrainSingles(size),
    postgresServers(size),
    payloadSize(size, 'sqlite'),
    payloadSize(size, 'postgres'),
  ];
}
