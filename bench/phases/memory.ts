/** The memory of a server: at rest after its start, and by how much more it is with many jobs queued, before and after a restart. */

import { setTimeout as sleep } from 'node:timers/promises';
import { startServer, type TestServer } from '../../test/support/server.ts';
import { inFlight, payloads } from '../measure.ts';
import type { Measured } from '../phase.ts';
import type { Place } from '../queue.ts';
import { callersOf, createMany, states } from '../spine-http.ts';

export interface MemoryOptions {
  readonly jobs: number;
}

const FILL = 1_000;
const CALLS_IN_FLIGHT = 2;
const REST_MS = 3_000;
const MEGABYTE = 1_000_000;

export async function memory(place: Place, { jobs }: MemoryOptions): Promise<Measured> {
  const server = await startServer({ dataDir: place.folder });
  try {
    const callers = callersOf(server, CALLS_IN_FLIGHT);
    await sleep(REST_MS);
    const idle = await resident(server);
    await inFlight(
      CALLS_IN_FLIGHT,
      (made) => made * FILL < jobs,
      (part) => createMany(callers, payloads(FILL, part * FILL)),
    );
    await sleep(REST_MS);
    const { queued } = await states(callers);
    const growth = (await resident(server)) - idle;
    // What the filling left behind is gone now; what the jobs themselves need is not.
    await server.restart();
    await sleep(REST_MS);
    const restarted = (await resident(server)) - idle;
    const expected = Math.ceil(jobs / FILL) * FILL;
    const problem = queued === expected ? null : `${queued} jobs queued of ${expected}`;
    return { rates: { idle, growth, 'growth after a restart': restarted }, problem };
  } finally {
    await server.kill();
  }
}

/** As the server itself tells Prometheus, in megabytes. */
async function resident({ head }: TestServer): Promise<number> {
  const { text } = await head.get('/metrics');
  const bytes = /^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1];
  if (bytes === undefined) throw new Error('/metrics says nothing of memory');
  return Number(bytes) / MEGABYTE;
}
