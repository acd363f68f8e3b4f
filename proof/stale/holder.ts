import type { JobBody } from '../../test/support/http.ts';
import type { TestServer } from '../../test/support/server.ts';

/** The present holders must not have noticed anything: their own calls work, once and again. */
export async function checkHolder(
  server: TestServer,
  claw: 'left' | 'right',
  held: readonly JobBody[],
): Promise<string[]> {
  const found = await Promise.all(held.map((job) => checkOne(server, claw, job)));
  return found.flat();
}

async function checkOne(server: TestServer, claw: 'left' | 'right', held: JobBody): Promise<string[]> {
  const { id, leaseToken } = held;
  const client = server[claw];
  const violations: string[] = [];
  const expect = (what: string, wanted: unknown, got: unknown): void => {
    if (wanted !== got) violations.push(`${what} of ${id}: wanted ${String(wanted)}, got ${String(got)}`);
  };

  const now = (await server.head.get<JobBody>(`/jobs/${id}`)).body;
  if (now.state === 'running') {
    expect(
      'heartbeat by the holder',
      200,
      (await client.post(`/jobs/${id}/heartbeat`, { leaseToken })).status,
    );
    const bare = await client.post(`/jobs/${id}/complete`, { result: 'no token' });
    expect('complete without the token that the lease is used with', 409, bare.status);
  }
  const first = await client.post<JobBody>(`/jobs/${id}/complete`, { leaseToken, result: 'held' });
  const again = await client.post<JobBody>(`/jobs/${id}/complete`, { leaseToken, result: 'held' });
  expect('complete by the holder', 200, first.status);
  expect('the same complete again', 200, again.status);
  expect('the state in its repeated answer', first.body.state, again.body.state);
  expect('the result in its repeated answer', first.body.result, again.body.result);
  expect('the outcome in its repeated answer', 'complete done', outcomeOf(again.body));
  const other = await client.post<JobBody>(`/jobs/${id}/fail`, { leaseToken, error: 'after the end' });
  expect('another ending under the same lease', 409, other.status);
  const final = (await server.head.get<JobBody>(`/jobs/${id}`)).body;
  expect('the final state', 'done', final.state);
  expect('the final result', 'held', final.result);
  return violations;
}

/** A repetition is told how the first call ended. */
function outcomeOf(job: JobBody): string {
  const outcome = job['outcome'] as { verb?: string; status?: string } | undefined;
  return `${outcome?.verb} ${outcome?.status}`;
}
