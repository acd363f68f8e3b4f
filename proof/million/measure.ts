import type { Answer, JobBody } from '../../test/support/http.ts';
import type { TestServer } from '../../test/support/server.ts';
import { median } from '../measure.ts';

interface Page {
  readonly jobs: readonly JobBody[];
  readonly nextCursor?: string | null;
}

/** One thing clients do all day; it leaves the number of queued jobs as it was. */
type Action = (server: TestServer, timed: Timed) => Promise<void>;
type Timed = <T>(name: string, call: () => Promise<Answer<T>>) => Promise<Answer<T>>;

const ACTIONS: readonly Action[] = [
  async (server, timed) => {
    await timed('enqueue', () => server.head.post('/jobs', { target: 'any', spec: { n: 1 } }));
    const claimed = await timed('claim', () => server.left.post<Page>('/jobs/claim', { max: 1 }));
    const { id, leaseToken } = claimed.body.jobs[0] ?? {};
    await timed('complete', () =>
      server.left.post(`/jobs/${id}/complete`, { leaseToken, result: { ok: true } }),
    );
  },
  async (server, timed) => {
    const first = await timed('list_queued', () => server.head.get<Page>('/jobs?status=queued&limit=50'));
    const cursor = encodeURIComponent(first.body.nextCursor ?? '');
    await timed('list_queued_next', () => server.head.get(`/jobs?status=queued&limit=50&cursor=${cursor}`));
  },
  async (server, timed) => {
    await timed('list_done', () => server.head.get('/jobs?status=done&limit=50'));
  },
  async (server, timed) => {
    await timed('search', () => server.head.get('/jobs?q=deploy&limit=50'));
    await timed('search_newest', () => server.head.get('/jobs?q=deploy+service&order=newest&limit=50'));
    await timed('search_rare', () => server.head.get('/jobs?q=deploy&state=running&limit=50'));
  },
  async (server, timed) => {
    await timed('stats', () => server.head.get('/stats'));
  },
];

export interface Comparison {
  readonly name: string;
  readonly smallMs: number;
  readonly bigMs: number;
}

/** Alternates between the two servers, so that whatever else the machine does touches both alike. */
export async function compare(small: TestServer, big: TestServer, samples: number): Promise<Comparison[]> {
  const times = new Map<string, { small: number[]; big: number[] }>();
  const timer =
    (side: 'small' | 'big'): Timed =>
    async (name, call) => {
      const startedMs = performance.now();
      const answer = await call();
      const tookMs = performance.now() - startedMs;
      if (answer.status >= 300)
        throw new Error(`${name} answered ${answer.status} ${answer.text.slice(0, 200)}`);
      const own = times.get(name) ?? { small: [], big: [] };
      own[side].push(tookMs);
      times.set(name, own);
      return answer;
    };
  const [timeSmall, timeBig] = [timer('small'), timer('big')];
  const warmUps = Math.ceil(samples / 10);
  for (let round = 0; round < samples + warmUps; round++) {
    if (round === warmUps) times.clear();
    for (const act of ACTIONS) {
      await act(small, timeSmall);
      await act(big, timeBig);
    }
  }
  return [...times].map(([name, own]) => ({ name, smallMs: median(own.small), bigMs: median(own.big) }));
}
