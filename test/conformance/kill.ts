import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { create, type EngineKind, HEAD, onEvery, read } from '../support/engines.ts';
import { everyJob, numberAll } from './events.ts';

const WRITER = fileURLToPath(new URL('child-writer.ts', import.meta.url));

interface Acknowledged {
  readonly id: string;
  readonly state: 'queued' | 'running' | 'done';
}

/** What a child process said it had been told is durable, up to the moment it was killed. */
async function killedAfter(place: string, lines: number): Promise<Acknowledged[]> {
  const child = spawn(process.execPath, [WRITER, place], { stdio: ['ignore', 'pipe', 'inherit'] });
  const acknowledged: Acknowledged[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    acknowledged.push(JSON.parse(line) as Acknowledged);
    if (acknowledged.length === lines) child.kill('SIGKILL');
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  assert.equal(child.signalCode, 'SIGKILL', `the writer ended by itself with ${child.exitCode}`);
  return acknowledged;
}

export function survivesKill(kind: EngineKind): void {
  onEvery([kind], (each) => {
    each(
      'has everything that was acknowledged when its process is killed, and a whole history of it',
      async (spine) => {
        if (spine.reopen === null) throw new Error('this store cannot be opened again');
        await create(spine, { title: 'from before' });
        const acknowledged = await killedAfter(spine.place, 150);
        await using again = await spine.reopen();
        const rank = { queued: 0, running: 1, done: 2 } as const;
        for (const { id, state } of acknowledged) {
          const job = await read(again, { id });
          assert.ok(job.state === 'queued' || job.state === 'running' || job.state === 'done', job.state);
          assert.ok(rank[job.state] >= rank[state], `${id} was acknowledged as ${state} and is ${job.state}`);
        }
        const jobs = await everyJob(again);
        for (const job of jobs) {
          const events = await again.engine.jobs.events(HEAD, job.id, 0, 100);
          assert.deepEqual(
            events.map((event) => event.seq),
            Array.from({ length: job.seq }, (_, i) => i + 1),
          );
        }
        const counted = (await again.engine.counts()).reduce((sum, { n }) => sum + n, 0);
        assert.equal(counted, jobs.length);
        await numberAll(again);
        const feed = await again.engine.jobs.feed({ pos: 0, ordinal: -1 }, 10_000);
        assert.equal(
          feed.length,
          jobs.reduce((sum, job) => sum + job.seq, 0),
        );
        assert.ok((await create(again)).no > Math.max(...jobs.map((job) => job.no)));
      },
    );
  });
}
