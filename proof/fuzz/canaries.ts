import { isDeepStrictEqual } from 'node:util';
import type { JobBody } from '../../test/support/http.ts';
import type { TestServer } from '../../test/support/server.ts';

const LONG_LEASE_MS = 3_600_000;

/** One that waits where no claw looks, and one that the right claw holds. */
export async function makeCanaries(server: TestServer): Promise<JobBody[]> {
  const waiting = await server.head.post<JobBody>('/jobs', {
    target: 'canary',
    spec: { sings: 'öäü😀' },
    meta: { a: [1] },
  });
  const held = await server.head.post<JobBody>('/jobs', { target: 'right-claw', spec: { sings: true } });
  await server.right.post(`/jobs/${held.body.id}/claim`, { leaseMs: LONG_LEASE_MS });
  return Promise.all(
    [waiting, held].map(async (made) => (await server.head.get<JobBody>(`/jobs/${made.body.id}`)).body),
  );
}

export async function checkCanaries(server: TestServer, before: readonly JobBody[]): Promise<string[]> {
  const now = await Promise.all(before.map((job) => server.head.get<JobBody>(`/jobs/${job.id}`)));
  return before
    .filter((job, index) => !isDeepStrictEqual(job, now[index]?.body))
    .map(
      (job) =>
        `canary ${job.id} changed from ${JSON.stringify(job)} to ${JSON.stringify(now.map((a) => a.body))}`,
    );
}

/** Every list still answers, and no row holds what no row may hold. */
export async function checkRows(server: TestServer): Promise<string[]> {
  const violations: string[] = [];
  let cursor: string | null | undefined = '';
  do {
    const page: { status: number; text: string; body: { jobs?: JobBody[]; nextCursor?: string | null } } =
      await server.head.get(`/jobs?limit=200${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`);
    if (page.status !== 200) return [`the list answered ${page.status} ${page.text.slice(0, 200)}`];
    for (const job of page.body.jobs ?? []) {
      const whole = Number.isSafeInteger(job.attempts) && Number.isSafeInteger(job.maxAttempts);
      if (!whole || job.attempts < 0 || job.maxAttempts < 1)
        violations.push(`odd row ${JSON.stringify(job).slice(0, 300)}`);
    }
    cursor = page.body.nextCursor;
  } while (cursor);
  return violations;
}
