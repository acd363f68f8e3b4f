/** One agent as a process: a worker of the client, which writes down what it hears. It may be killed at any moment. */

import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { SpineClient } from '../../src/client/client.ts';
import { Worker } from '../../src/client/worker.ts';

const [baseUrl = '', token = '', file = ''] = process.argv.slice(2);

/** Messages that came with one answer, in their order. */
let batch: string[] = [];

function write(): void {
  if (batch.length > 0) appendFileSync(file, `${JSON.stringify({ at: Date.now(), ids: batch })}\n`);
  batch = [];
}

const worker = new Worker({
  client: new SpineClient({ baseUrl, token }),
  concurrency: 2,
  waitMs: 1_000,
  handler: async (job) => {
    // Some jobs end before their first heartbeat, and some go on for several.
    await sleep((job.spec as { forMs: number }).forMs);
    return 'ok';
  },
  onMessage: ({ id }) => {
    if (batch.push(id) === 1) queueMicrotask(write);
  },
  // The server is away now and then.
  onError: () => undefined,
});
await worker.run();
