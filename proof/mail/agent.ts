/** One agent as a process: a worker of the client. What its calls bring is written down; it may be killed at any moment. */

import { setTimeout as sleep } from 'node:timers/promises';
import { SpineClient } from '../../src/client/client.ts';
import { Worker } from '../../src/client/worker.ts';
import { Ledger } from './ledger.ts';

const [baseUrl = '', token = '', file = ''] = process.argv.slice(2);
const client = new SpineClient({ baseUrl, token });
const ledger = new Ledger(file);

const worker = new Worker({
  client: { jobs: ledger.around(client.jobs), platform: client.platform },
  concurrency: 2,
  waitMs: 1_000,
  handler: async (job) => {
    // Some jobs end before their first heartbeat, and some go on for several.
    await sleep((job.spec as { forMs: number }).forMs);
    return 'ok';
  },
  // The server is away now and then.
  onError: () => undefined,
});
await worker.run();
