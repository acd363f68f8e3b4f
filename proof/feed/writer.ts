import type { Answer, HttpClient, JobBody } from '../../test/support/http.ts';
import type { TestServer } from '../../test/support/server.ts';
import type { Random } from '../random.ts';

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
    const batch = Array.from({ length: count }, () => ({ target: 'left-claw', maxAttempts: 3 }));
    const made = await random.pick(servers).head.post<{ jobs?: JobBody[] }>('/jobs/batch', { jobs: batch });
    if (made.body.jobs === undefined) {
      refused(`a batch was answered ${made.status} ${made.text}`);
      return ids;
    }
    ids.push(...made.body.jobs.map(({ id }) => id));
    for (const { id } of made.body.jobs) await leadToItsEnd(servers, random, id, refused);
  }
  return ids;
}

async function leadToItsEnd(
  servers: readonly TestServer[],
  random: Random,
  id: string,
  refused: (what: string) => void,
): Promise<void> {
  const claw = (): HttpClient => random.pick(servers).left;
  const head = (): HttpClient => random.pick(servers).head;
  const step = async (client: HttpClient, name: string, body: object): Promise<Answer<JobBody>> => {
    const answer = await client.post<JobBody>(`/jobs/${id}/${name}`, body);
    if (answer.status !== 200) refused(`${name} was answered ${answer.status} ${answer.text.slice(0, 200)}`);
    return answer;
  };
  if (random.chance(0.3)) await step(head(), 'comment', { text: 'Go on.' });
  if (random.chance(0.1)) {
    await step(head(), 'cancel', {});
    return;
  }
  let { leaseToken } = (await step(claw(), 'claim', {})).body;
  if (random.chance(0.3)) {
    await step(claw(), 'release', { leaseToken });
    ({ leaseToken } = (await step(claw(), 'claim', {})).body);
  }
  if (random.chance(0.3)) await step(claw(), 'heartbeat', { leaseToken, progress: 'half' });
  await step(claw(), random.chance(0.8) ? 'complete' : 'fail', { leaseToken });
}
