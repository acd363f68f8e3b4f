/** Works until it is killed, and says each line only after the engine has said that it is durable. */
import { claimed, create, worker } from '../support/engines.ts';
import { childEngine } from './child-engine.ts';

const spine = await childEngine(process.argv[2] ?? '');

function say(id: string, state: string): void {
  process.stdout.write(`${JSON.stringify({ id, state })}\n`);
}

async function work(): Promise<never> {
  for (;;) {
    const job = await create(spine, { params: { text: 'x'.repeat(500) } });
    say(job.id, 'queued');
    const held = await claimed(spine, job);
    say(job.id, 'running');
    await spine.engine.leases.complete(worker('w'), job.id, held.leaseToken, { ok: true });
    say(job.id, 'done');
  }
}

await Promise.all(Array.from({ length: 8 }, work));
