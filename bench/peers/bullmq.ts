/** BullMQ, on Redis as it comes (snapshots, no append-only file: a crash may lose acknowledged jobs) or on PostgreSQL. */

import { Pool } from 'pg';
import type { Payload } from '../measure.ts';
import { type Place, type Queue, urlOf } from '../queue.ts';
import { startDaemon } from './daemon.ts';
import { installed } from './installed.ts';

interface BullQueue {
  on(event: 'error', listener: () => void): void;
  waitUntilReady(): Promise<unknown>;
  add(name: string, data: Payload): Promise<unknown>;
  addBulk(jobs: readonly { name: string; data: Payload }[]): Promise<unknown>;
  getJobCounts(...states: readonly string[]): Promise<Record<string, number>>;
}

interface BullWorker {
  on(event: 'error', listener: () => void): void;
  waitUntilReady(): Promise<unknown>;
  close(force: boolean): Promise<void>;
}

interface Bull {
  Queue: new (name: string, options: object, backend?: unknown) => BullQueue;
  Worker: new (
    name: string,
    handle: (job: { data: Payload }) => Promise<void>,
    options: object,
    backend?: unknown,
  ) => BullWorker;
  readonly createPostgresBackend: unknown;
  readonly runMigrations: (client: unknown) => Promise<void>;
}

const NAME = 'job';
const UNFINISHED = ['wait', 'active', 'delayed', 'prioritized', 'paused'];
/** A worker that waits for news takes its time to close; what is measured is over by then. */
const CLOSED_WITHIN_MS = 1_500;

export async function openBullOnRedis(place: Place): Promise<Queue> {
  const daemon = await startDaemon('redis-server', place.folder, (port) => [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--dir',
    place.folder,
    '--maxmemory-policy',
    'noeviction',
  ]);
  const connection = { host: '127.0.0.1', port: daemon.port, maxRetriesPerRequest: null };
  const queue = await openBull(await installed<Bull>('bullmq'), { connection }, 100, undefined);
  return { ...queue, close: () => daemon.stop() };
}

export async function openBullOnPostgres(place: Place): Promise<Queue> {
  const bull = await installed<Bull>('bullmq');
  const pool = new Pool({ connectionString: urlOf(place), max: 1 });
  const client = await pool.connect();
  await bull.runMigrations(client);
  client.release();
  await pool.end();
  const connection = { connectionString: urlOf(place), max: 20 };
  return openBull(bull, { connection }, 50, bull.createPostgresBackend);
}

async function openBull(bull: Bull, options: object, concurrency: number, backend: unknown): Promise<Queue> {
  const queue = new bull.Queue(NAME, options, backend);
  queue.on('error', () => undefined);
  await queue.waitUntilReady();
  return {
    add: (data) => queue.add(NAME, data),
    addMany: (payloads) => queue.addBulk(payloads.map((data) => ({ name: NAME, data }))),
    work: async (handle) => {
      const run = async ({ data }: { data: Payload }): Promise<void> => handle(data);
      const worker = new bull.Worker(NAME, run, { ...options, concurrency }, backend);
      worker.on('error', () => undefined);
      await worker.waitUntilReady();
      return {
        stop: async () => {
          const late = new Promise<void>((resolve) => setTimeout(resolve, CLOSED_WITHIN_MS));
          await Promise.race([worker.close(true), late]);
        },
      };
    },
    left: async () =>
      Object.values(await queue.getJobCounts(...UNFINISHED)).reduce((sum, count) => sum + count, 0),
    finished: async () => (await queue.getJobCounts('completed'))['completed'] ?? 0,
    close: async () => undefined,
  };
}
