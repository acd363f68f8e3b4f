/** A worker in a process of its own: keeps a checkpoint and hangs, or finishes with the one that it finds. */

import { SpineClient, Worker } from '../../src/client/index.ts';

const [, , baseUrl = '', token = ''] = process.argv;
const worker = new Worker({
  client: new SpineClient({ baseUrl, token }),
  targets: ['any'],
  waitMs: 500,
  onError: () => undefined,
  handler: async (_, { checkpoint, lastCheckpoint }) => {
    if (lastCheckpoint !== null) return { lastCheckpoint, folder: process.cwd() };
    await checkpoint({ done: ['a', 'b'], folder: process.cwd() });
    process.send?.('kept');
    return new Promise(() => {});
  },
});
await worker.run();
