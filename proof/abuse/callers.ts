import { setTimeout as sleep } from 'node:timers/promises';
import { type HttpClient, httpClient, type JobBody } from '../../test/support/http.ts';
import type { TestServer } from '../../test/support/server.ts';

const LEASE_MS = 5_000;
const BEAT_EVERY_MS = 200;
const CREATE_EVERY_MS = 50;

/** Those who only want to do their work, and what they meet. */
export interface Met {
  readonly heartbeatsMs: number[];
  readonly createsMs: number[];
  readonly lost: string[];
  readonly refused: string[];
}

export interface Callers {
  readonly workers: number;
  readonly creators: number;
}

/** Works beside whatever `attack` does, until it is over. */
export async function workBeside(
  server: TestServer,
  { workers, creators }: Callers,
  attack: () => Promise<void>,
): Promise<Met> {
  const met: Met = { heartbeatsMs: [], createsMs: [], lost: [], refused: [] };
  const head = httpClient(server.url, { token: server.tokens.head, sockets: creators + 1 });
  const left = httpClient(server.url, { token: server.tokens.left });
  const work = { going: true };
  const held = (await hold(head, left, workers)).map((job, i) => {
    // Every other one calls as the agent of a run does: who that is stands in the database.
    const token = i % 2 === 0 ? server.tokens.left : `run.${job.id}.${job.leaseToken}`;
    return { job, client: httpClient(server.url, { token, sockets: 1 }) };
  });
  // They were at work before: their connections are open, and need not be taken in beside those of the attack.
  await Promise.all(
    held.map(({ client, job: { id, leaseToken } }) =>
      client.post(`/jobs/${id}/heartbeat`, { leaseToken }, PATIENT),
    ),
  );
  const all = [
    ...held.map(({ client, job }) => beat(client, job, met, work)),
    ...Array.from({ length: creators }, () => create(head, met, work)),
  ];
  await attack();
  work.going = false;
  await Promise.all(all);
  await Promise.all(
    held.map(({ client, job: { id, leaseToken } }) =>
      client.post(`/jobs/${id}/complete`, { leaseToken }, PATIENT),
    ),
  );
  head.close();
  left.close();
  for (const { client } of held) client.close();
  return met;
}

/** How it ends is told by its lease, not by the patience of its client. */
const PATIENT = { timeoutMs: 60_000 };

async function hold(head: HttpClient, left: HttpClient, count: number): Promise<JobBody[]> {
  const jobs = Array.from({ length: count }, () => ({
    target: 'left-claw',
    leaseMs: LEASE_MS,
    priority: 10,
  }));
  await head.post('/jobs/batch', { jobs });
  const claimed = await left.post<{ jobs: JobBody[] }>('/jobs/claim', { max: count, target: 'left-claw' });
  return claimed.body.jobs;
}

async function beat(
  client: HttpClient,
  { id, leaseToken }: JobBody,
  met: Met,
  work: { going: boolean },
): Promise<void> {
  // Not all at the same moment.
  await sleep(Math.random() * BEAT_EVERY_MS);
  while (work.going) {
    const sentMs = performance.now();
    const answer = await client.post(`/jobs/${id}/heartbeat`, { leaseToken }, PATIENT);
    met.heartbeatsMs.push(performance.now() - sentMs);
    if (answer.status === 409) met.lost.push(`a lease was lost: ${answer.text}`);
    else if (answer.status !== 200) met.refused.push(`a heartbeat was answered ${answer.text}`);
    if (answer.status === 409) return;
    await sleep(BEAT_EVERY_MS);
  }
}

async function create(head: HttpClient, met: Met, work: { going: boolean }): Promise<void> {
  while (work.going) {
    const sentMs = performance.now();
    const answer = await head.post('/jobs', { target: 'nobody' }, PATIENT);
    met.createsMs.push(performance.now() - sentMs);
    if (answer.status !== 201) met.refused.push(`a create was answered ${answer.text}`);
    await sleep(CREATE_EVERY_MS);
  }
}
