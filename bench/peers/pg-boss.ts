/** pg-boss with its notifications on, its largest useful batches and bursts while batches come back full. */

import { Pool } from 'pg';
import type { Payload } from '../measure.ts';
import { type Place, type Queue, urlOf } from '../queue.ts';
import { installed } from './installed.ts';

interface Boss {
  start(): Promise<unknown>;
  stop(options: object): Promise<void>;
  on(name: string, listener: (problem: unknown) => void): void;
  createQueue(name: string, options: object): Promise<void>;
  send(name: string, data: object): Promise<unknown>;
  insert(name: string, jobs: readonly { data: object }[]): Promise<unknown>;
  work(
    name: string,
    options: object,
    handle: (jobs: readonly { data: Payload }[]) => Promise<void>,
  ): Promise<unknown>;
  offWork(name: string, options: object): Promise<void>;
}

const BATCHES = {
  batchSize: 1000,
  localConcurrency: 2,
  burstWhenBatchFull: true,
  pollingIntervalSeconds: 0.5,
};

export async function openPgBoss(place: Place): Promise<Queue> {
  const url = urlOf(place);
  const { PgBoss } = await installed<{ PgBoss: new (options: object) => Boss }>('pg-boss');
  const boss = new PgBoss({ connectionString: url, max: 16, useListenNotify: true, schedule: false });
  boss.on('error', (problem) => process.stderr.write(`pg-boss: ${String(problem)}\n`));
  await boss.start();
  await boss.createQueue('job', { notify: true });
  const pool = new Pool({ connectionString: url, max: 1 });
  const count = async (comparison: '<' | '='): Promise<number> => {
    const text = `select count(*)::int as n from pgboss.job where name = 'job' and state ${comparison} 'completed'`;
    const { rows } = await pool.query<{ n: number }>(text);
    return rows[0]?.n ?? Number.NaN;
  };
  return {
    add: (input) => boss.send('job', input),
    addMany: (inputs) =>
      boss.insert(
        'job',
        inputs.map((data) => ({ data })),
      ),
    work: async (handle) => {
      await boss.work('job', BATCHES, async (jobs) => {
        for (const { data } of jobs) handle(data);
      });
      return { stop: () => boss.offWork('job', { wait: false }) };
    },
    left: () => count('<'),
    finished: () => count('='),
    close: async () => {
      await pool.end();
      await boss.stop({ graceful: false, close: true });
    },
  };
}
