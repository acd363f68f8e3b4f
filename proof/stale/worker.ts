import { httpClient, type JobBody } from '../../test/support/http.ts';

/**
 * A worker process of its own: it claims, tells its parent, and writes when it hears that it should. It is frozen by
 * SIGSTOP in between and hears that as it wakes, so it comes back with leases that it has every reason to believe in.
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

export type StaleWord = StaleOrder | 'write';
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

const [url, token] = process.argv.slice(2);
if (url !== undefined && token !== undefined && process.send !== undefined) {
  const client = httpClient(url, { token });
  let held: readonly Lease[] = [];
  process.on('message', (word: StaleWord) => {
    void (word === 'write' ? writeAll() : claim(word));
  });
  process.on('disconnect', () => process.exit(0));

  const claim = async (order: StaleOrder): Promise<void> => {
    const answer = await client.post<{ jobs: readonly JobBody[] }>('/jobs/claim', {
      ...order,
      waitMs: 5_000,
    });
    held = answer.body.jobs.map(({ id, leaseToken = '', attempt = 0 }) => ({
      id,
      token: leaseToken,
      attempt,
    }));
    tell({ claimed: held });
  };

  const writeAll = async (): Promise<void> => {
    const writes = await Promise.all(held.map(writeEverything));
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
