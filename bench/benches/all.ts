import type { Bench, Size } from '../bench.ts';
import { embeddedDrain } from './embedded-drain.ts';
import { embeddedEnqueue } from './embedded-enqueue.ts';
import { files } from './files.ts';
import { httpBatches } from './http-batches.ts';
import { httpBots } from './http-bots.ts';
import { httpEnqueue } from './http-enqueue.ts';
import { httpSingles } from './http-singles.ts';
import { latency } from './latency.ts';
import { memory } from './memory.ts';
import { million } from './million.ts';
import { payloadSize } from './payload-size.ts';
import { postgresDrainBatches } from './postgres-drain-batches.ts';
import { postgresDrainSingles } from './postgres-drain-singles.ts';
import { postgresEnqueue } from './postgres-enqueue.ts';
import { postgresServers } from './postgres-servers.ts';
import { watching } from './watching.ts';

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
    httpEnqueue(size),
    httpSingles(size),
    httpBatches(size),
    httpBots(size),
    latency(size),
    million(size),
    memory(size),
    files(size),
    watching(size),
  ];
}
