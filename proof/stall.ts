import { setTimeout as sleep } from 'node:timers/promises';
import type { JobBody } from '../test/support/http.ts';
import { startServer, type TestServer } from '../test/support/server.ts';
import { type ProofReport, report } from './report.ts';
import type { ProofStore } from './stores.ts';

/** Longer than the silence from which a server knows that no holder could reach it. */
const LEASE_MS = 6_000;
const AWAY_MS = 7_000;
const JOBS = 20;

/** How a server is away for longer than a lease: frozen, or killed and started again later. */
const WAYS = {
  frozen: async (server: TestServer): Promise<void> => {
    process.kill(server.pid, 'SIGSTOP');
    await sleep(AWAY_MS);
    process.kill(server.pid, 'SIGCONT');
  },
  down: async (server: TestServer): Promise<void> => {
    await server.kill('SIGKILL');
    await sleep(AWAY_MS);
    await server.restart();
  },
} as const;

/** A lease that ran out while no server could be reached is not lost: its holder is heard first. */
export async function proveStall(store: ProofStore): Promise<ProofReport> {
  const startedMs = performance.now();
  const violations: string[] = [];
  await using server = await startServer({ ...store.server, leaseMs: LEASE_MS, reaperIntervalMs: 50 });
  for (const [way, beAway] of Object.entries(WAYS)) {
    const held = await hold(server);
    // A server says that it is alive once a second; it must have done so before it is gone.
    await sleep(1_500);
    await beAway(server);
    // Time for a reaper that is too eager.
    await sleep(300);
    const answers = await Promise.all(
      held.map(({ id, leaseToken }) => server.left.post(`/jobs/${id}/complete`, { leaseToken })),
    );
    const lost = answers.filter((answer) => answer.status !== 200).length;
    if (lost > 0)
      violations.push(`${lost} of ${held.length} holders lost their lease while the server was ${way}`);
  }
  return report({
    proof: 'stall',
    store: store.kind,
    summary: `${JOBS * 2} holders kept their lease of ${LEASE_MS} ms over ${AWAY_MS} ms without a server`,
    counts: { holders: JOBS * 2 },
    violations,
    startedMs,
  });
}

async function hold(server: TestServer): Promise<JobBody[]> {
  await server.head.post('/jobs/batch', { jobs: Array.from({ length: JOBS }, () => ({ target: 'any' })) });
  return (await server.left.post<{ jobs: JobBody[] }>('/jobs/claim', { max: JOBS })).body.jobs;
}
