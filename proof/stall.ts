import { setTimeout as sleep } from 'node:timers/promises';
import { type JobBody, NoAnswer } from '../test/support/http.ts';
import { startServer, type TestServer } from '../test/support/server.ts';
import { type ProofReport, report } from './report.ts';
import type { ProofStore } from './stores.ts';

const BEAT_EVERY_MS = 150;
const JOBS = 20;

/** How a server is away for longer than a lease: frozen, or killed and started again later. */
const WAYS = {
  frozen: async (server: TestServer, awayMs: number): Promise<void> => {
    process.kill(server.pid, 'SIGSTOP');
    await sleep(awayMs);
    process.kill(server.pid, 'SIGCONT');
  },
  down: async (server: TestServer, awayMs: number): Promise<void> => {
    await server.kill('SIGKILL');
    await sleep(awayMs);
    await server.restart();
  },
} as const;

/** Both are shorter than the time without a server. Silent holders need one that is longer than a pulse. */
export interface StallOptions {
  readonly silentLeaseMs: number;
  readonly beatingLeaseMs: number;
  /** For so long there is no server. */
  readonly awayMs: number;
}

/** A lease that ran out while no server could be reached is not lost: its holder is heard first. */
export async function proveStall(store: ProofStore, options: StallOptions): Promise<ProofReport> {
  const { silentLeaseMs, beatingLeaseMs, awayMs } = options;
  const startedMs = performance.now();
  const violations: string[] = [];
  await using server = await startServer({
    ...store.server,
    leaseMs: silentLeaseMs,
    reaperIntervalMs: 50,
  });
  for (const [way, beAway] of Object.entries(WAYS)) {
    const silent = await hold(server, silentLeaseMs);
    const beating = await hold(server, beatingLeaseMs);
    const beats = new Beats(server, beating);
    // A server says that it is alive once a second; it must have done so before it is gone.
    await sleep(1_100);
    await beAway(server, awayMs);
    // Time for a reaper that is too eager.
    await sleep(300);
    for (const [kind, lost] of [
      ['silent', await lostBy(server, silent)],
      ['beating', await beats.lost()],
    ] as const)
      if (lost > 0)
        violations.push(`${lost} of ${JOBS} ${kind} holders lost their lease while the server was ${way}`);
  }
  const holders = JOBS * 4;
  return report({
    proof: 'stall',
    store: store.kind,
    summary: `${holders} holders kept their leases of ${beatingLeaseMs} and ${silentLeaseMs} ms over ${awayMs} ms without a server`,
    counts: { holders },
    violations,
    startedMs,
  });
}

async function hold(server: TestServer, leaseMs: number): Promise<JobBody[]> {
  await server.head.post('/jobs/batch', { jobs: Array.from({ length: JOBS }, () => ({ target: 'any' })) });
  return (await server.left.post<{ jobs: JobBody[] }>('/jobs/claim', { max: JOBS, leaseMs })).body.jobs;
}

/** Holders that say nothing until their work is done. */
async function lostBy(server: TestServer, held: readonly JobBody[]): Promise<number> {
  const answers = await Promise.all(
    held.map(({ id, leaseToken }) => server.left.post(`/jobs/${id}/complete`, { leaseToken })),
  );
  return answers.filter((answer) => answer.status !== 200).length;
}

/** Holders whose heartbeats wait at the door while the server is away. */
class Beats {
  readonly #ends: Promise<boolean[]>;
  #going = true;

  constructor(server: TestServer, held: readonly JobBody[]) {
    this.#ends = Promise.all(held.map((job) => this.#beat(server, job)));
  }

  lost(): Promise<number> {
    this.#going = false;
    return this.#ends.then((ends) => ends.filter(Boolean).length);
  }

  /** Answers whether the lease was lost. */
  async #beat(server: TestServer, { id, leaseToken }: JobBody): Promise<boolean> {
    while (this.#going) {
      if ((await beat(server, id, leaseToken)) === 409) return true;
      await sleep(BEAT_EVERY_MS);
    }
    return (await beat(server, id, leaseToken)) === 409;
  }
}

/** A server that is down answers nothing; its holder tries again. */
async function beat(server: TestServer, id: string, leaseToken?: string): Promise<number> {
  try {
    return (await server.left.post(`/jobs/${id}/heartbeat`, { leaseToken })).status;
  } catch (error) {
    if (error instanceof NoAnswer) return 0;
    throw error;
  }
}
