import { setTimeout as sleep } from 'node:timers/promises';
import { httpClient, type JobBody } from '../../test/support/http.ts';

/**
 * A worker process of its own: it claims, tells its parent, works for a moment and then writes. It is frozen by
 * SIGSTOP while it works, so it comes back with leases that it has every reason to believe in.
 */
export interface StaleOrder {
  readonly max: number;
  readonly leaseMs: number;
}

export interface Lease {
  readonly id: string;
  readonly token: string;
  readonly attempt: number;
}

export interface LateWrite {
  readonly id: string;
  readonly verb: string;
  readonly status: number;
  readonly error: unknown;
}

export type StaleMessage = { readonly claimed: readonly Lease[] } | { readonly writes: readonly LateWrite[] };

export const VERBS = ['heartbeat', 'logs', 'snooze', 'complete', 'fail', 'release'] as const;

/** Each verb takes its own words and refuses others. */
const WORDS: Readonly<Record<(typeof VERBS)[number], object>> = {
  heartbeat: { progress: 'late' },
  logs: { lines: [{ text: 'late' }] },
  snooze: { untilAt: '2100-01-01T00:00:00.000Z' },
  complete: { result: 'late' },
  fail: { error: 'late' },
  release: { reason: 'late' },
};

/** Long enough for the parent to freeze us before we write. */
const WORK_MS = 150;

const [url, token] = process.argv.slice(2);
if (url !== undefined && token !== undefined && process.send !== undefined) {
  const client = httpClient(url, { token });
  process.on('message', (order: StaleOrder) => {
    void carryOut(order);
  });
  process.on('disconnect', () => process.exit(0));

  const carryOut = async (order: StaleOrder): Promise<void> => {
    const answer = await client.post<{ jobs: readonly JobBody[] }>('/jobs/claim', {
      ...order,
      waitMs: 5_000,
    });
    const claimed = answer.body.jobs.map(({ id, leaseToken = '', attempt = 0 }) => ({
      id,
      token: leaseToken,
      attempt,
    }));
    tell({ claimed });
    await sleep(WORK_MS);
    const writes = await Promise.all(claimed.map(writeEverything));
    tell({ writes: writes.flat() });
  };

  const writeEverything = async (lease: Lease): Promise<LateWrite[]> => {
    const writes: LateWrite[] = [];
    for (const verb of VERBS) {
      const body = { leaseToken: lease.token, ...WORDS[verb] };
      const answer = await client.post(`/jobs/${lease.id}/${verb}`, body);
      writes.push({ id: lease.id, verb, status: answer.status, error: answer.body['error'] });
    }
    return writes;
  };
}

function tell(message: StaleMessage): void {
  process.send?.(message);
}
