/** A process that works and writes its files until it is killed. */

import path from 'node:path';
import { openJournal } from '../../src/files/journal.ts';
import { openProjection } from '../../src/files/projection.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { HEAD, LEFT, openBench } from './fixture.ts';

const { dir, engine, store } = openBench(process.argv[2]);
const clock = systemClock();
const small = { segmentBytes: 50_000, compactAboveBytes: 100_000 };
const journal = await openJournal({ dir: path.join(dir, 'journal'), store, clock, ...small });
const projection = await openProjection({ dir, store, clock, jobsPerPass: 10 });

async function work(): Promise<never> {
  for (;;) {
    const { jobs } = await engine.jobs.create(HEAD, [
      { target: 'any', spec: 'x'.repeat(300) },
      { target: 'left-claw' },
    ]);
    await engine.jobs.comment(HEAD, jobs[1]?.id ?? '', 'said something');
    for (const { job } of await engine.leases.claimNext(LEFT, { targets: ['any'], max: 2, waitMs: 0 })) {
      await engine.leases.heartbeat(LEFT, job.id, job.leaseToken, { half: true });
      await engine.leases.complete(LEFT, job.id, job.leaseToken, { done: job.no });
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function follow(duty: { runOnce(): Promise<unknown> }): Promise<never> {
  for (;;) {
    await duty.runOnce();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

process.stdout.write('ready\n');
await Promise.all([work(), follow(journal), follow(projection)]);
