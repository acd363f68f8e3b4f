import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, type HttpClient, type JobBody, NoAnswer } from '../../test/support/http.ts';
import type { TestServer } from '../../test/support/server.ts';
import type { Random } from '../random.ts';

const COME_BACK_MS = 20;

/** Makes jobs and leads each to its end, every step over some server, and gives the ids of all it made. */
export async function writeJobs(
  servers: readonly TestServer[],
  random: Random,
  jobs: number,
  refused: (what: string) => void,
): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < jobs) {
    // Several in one write share a position in the feed.
    const count = Math.min(jobs - ids.length, 1 + random.int(5));
    const made = await makeOnce(servers, random, count);
    if (made.body.jobs === undefined) {
      refused(`a batch was answered ${made.status} ${made.text}`);
      return ids;
    }
    ids.push(...made.body.jobs.map(({ id }) => id));
    for (const { id } of made.body.jobs) await leadToItsEnd(servers, random, id, refused);
  }
  return ids;
}

/** A server that was killed may have made them before: the key tells the next one. */
async function makeOnce(
  servers: readonly TestServer[],
  random: Random,
  count: number,
): Promise<Answer<{ jobs?: JobBody[] }>> {
  const jobs = Array.from({ length: count }, () => ({ target: 'left-claw', maxAttempts: 3 }));
  const headers = { 'idempotency-key': `batch-${random.int(2 ** 32)}-${random.int(2 ** 32)}` };
  for (;;) {
    const made = await answered(() => random.pick(servers).head.post('/jobs/batch', { jobs }, { headers }));
    if (made !== null) return made;
  }
}

/** A job whose step was lost with a killed server is left as it is: what became of it is in its history. */
async function leadToItsEnd(
  servers: readonly TestServer[],
  random: Random,
  id: string,
  refused: (what: string) => void,
): Promise<void> {
  const claw = (): HttpClient => random.pick(servers).left;
  const head = (): HttpClient => random.pick(servers).head;
  const step = async (client: () => HttpClient, name: string, body: object): Promise<JobBody | null> => {
    const answer = await answered(() => client().post<JobBody>(`/jobs/${id}/${name}`, body));
    if (answer?.status === 200) return answer.body;
    if (answer !== null) refused(`${name} was answered ${answer.status} ${answer.text.slice(0, 200)}`);
    return null;
  };
  if (random.chance(0.3) && !(await step(head, 'comment', { text: 'Go on.' }))) return;
  if (random.chance(0.1)) {
    await step(head, 'cancel', {});
    return;
  }
  let claimed = await step(claw, 'claim', {});
  if (claimed && random.chance(0.3)) {
    const { leaseToken } = claimed;
    claimed = (await step(claw, 'release', { leaseToken })) && (await step(claw, 'claim', {}));
  }
  if (!claimed) return;
  const { leaseToken } = claimed;
  if (random.chance(0.3) && !(await step(claw, 'heartbeat', { leaseToken, progress: 'half' }))) return;
  await step(claw, random.chance(0.8) ? 'complete' : 'fail', { leaseToken });
}

/** Asks until a server is there to ask; null when it was killed before it answered. */
async function answered<T>(ask: () => Promise<Answer<T>>): Promise<Answer<T> | null> {
  for (;;) {
    try {
      return await ask();
    } catch (problem) {
      if (!(problem instanceof NoAnswer)) throw problem;
      if (problem.code !== 'ECONNREFUSED') return null;
      await sleep(COME_BACK_MS);
    }
  }
}
