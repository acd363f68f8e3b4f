import { setTimeout as sleep } from 'node:timers/promises';
import { SpineClient, Worker } from 'openclaw-spine/client';

/** @type {SpineClient<{ nap: { spec: { ms: number } } }>} What jobs carry, for the compiler and the editor. */
const client = new SpineClient({ baseUrl: process.env.SPINE_BASE_URL, token: process.env.SPINE_TOKEN });

const worker = new Worker({
  client,
  targets: ['left-claw', 'any'],
  concurrency: 4,
  handleSignals: true,
  handler: async (job, { signal, progress, log }) => {
    log(`Sleeping for ${job.spec.ms} ms`);
    progress('asleep');
    await sleep(job.spec.ms, undefined, { signal });
    return { slept: job.spec.ms };
  },
});
await worker.run();
