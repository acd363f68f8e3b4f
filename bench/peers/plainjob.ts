/** plainjob on better-sqlite3. Its calls are synchronous: one job is one transaction. */

import { join } from 'node:path';
import type { Payload } from '../measure.ts';
import type { Place, Queue } from '../queue.ts';
import { installed } from './installed.ts';

interface Database {
  pragma(text: string): unknown;
}
interface PlainQueue {
  add(type: string, data: unknown): unknown;
  addMany(type: string, data: readonly unknown[]): unknown;
  countJobs(filter: { type: string; status: number }): number;
  close(): void;
}
interface Plainjob {
  readonly better: (database: Database) => unknown;
  readonly defineQueue: (options: object) => PlainQueue;
  readonly defineWorker: (
    type: string,
    handle: (job: { data: string }) => void,
    options: object,
  ) => { start(): unknown; stop(): Promise<void> };
}

const STATUS = { pending: 0, processing: 1, done: 2 };
const silent = { error: console.error, warn() {}, info() {}, debug() {} };

/** NORMAL is its own default and loses acknowledged jobs when the power fails; FULL keeps them. */
export async function openPlainjob(place: Place, synchronous: 'FULL' | 'NORMAL'): Promise<Queue> {
  const { default: Sqlite } = await installed<{ default: new (file: string) => Database }>('better-sqlite3');
  const { better, defineQueue, defineWorker } = await installed<Plainjob>('plainjob');
  const database = new Sqlite(join(place.folder, 'plainjob.db'));
  const queue = defineQueue({ connection: better(database), logger: silent });
  database.pragma(`synchronous = ${synchronous}`);
  const count = (status: number): number => queue.countJobs({ type: 'job', status });
  return {
    add: (input) => queue.add('job', input),
    addMany: (inputs) => queue.addMany('job', inputs),
    work: async (handle) => {
      const options = { queue, logger: silent };
      const worker = defineWorker('job', (job) => handle(JSON.parse(job.data) as Payload), options);
      void worker.start();
      return { stop: () => worker.stop() };
    },
    left: () => count(STATUS.pending) + count(STATUS.processing),
    finished: async () => count(STATUS.done),
    close: async () => queue.close(),
  };
}
