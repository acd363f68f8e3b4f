/** Claims and completes until there is nothing left, and says which jobs it had. */
import { claimNext, worker } from '../support/engines.ts';
import { childEngine } from './child-engine.ts';

const spine = await childEngine(process.argv[2] ?? '');
const name = `process-${process.pid}`;

async function work(): Promise<void> {
  for (;;) {
    const held = await claimNext(spine, { by: worker(name), max: 3 });
    if (held.length === 0) return;
    for (const { job } of held) process.stdout.write(`${job.id}\n`);
    await Promise.all(
      held.map(({ job }) => spine.engine.leases.complete(worker(name), job.id, job.leaseToken, name)),
    );
  }
}

await Promise.all([work(), work(), work()]);
await spine.store.close();
