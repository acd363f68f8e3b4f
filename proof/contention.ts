import { type Answer, type HttpClient, httpClient, type JobBody } from '../test/support/http.ts';
import { startServer, type TestServer } from '../test/support/server.ts';
import { percentile, rounded } from './measure.ts';
import { type ProofReport, report } from './report.ts';
import type { ProofStore } from './stores.ts';

const CLAIMERS = 10;
/** Servers look for themselves once a second; a claimer for whom there is work must not wait for that. */
const SERVED_WITHIN_MS = 500;

export interface ContentionOptions {
  readonly rounds: number;
  readonly jobs: number;
  /** How many server processes share the store; more than one needs PostgreSQL. */
  readonly servers: number;
}

/** Ten claimers race for one job, again and again; then ten workers share a queue. Every job has one winner. */
export async function proveContention(store: ProofStore, options: ContentionOptions): Promise<ProofReport> {
  const startedMs = performance.now();
  await using stack = new AsyncDisposableStack();
  // All at once: on an empty database only one of them may make the tables.
  const starts = Array.from({ length: options.servers }, () =>
    startServer({ ...store.server, leaseMs: 60_000 }),
  );
  const servers = (await Promise.all(starts)).map((server) => stack.use(server));
  const claimers = Array.from({ length: CLAIMERS }, (_, index) => claimerOf(servers, index));
  stack.defer(() => claimers.forEach((claimer) => claimer.close()));
  const [first] = servers;
  if (first === undefined) throw new Error('contention needs at least one server');

  const violations: string[] = [];
  const waitsMs: number[] = [];
  for (let round = 0; round < options.rounds; round++) {
    violations.push(...(await raceById(first, claimers)), ...(await raceForNext(first, claimers)));
    violations.push(...(await raceToCreate(servers, round)));
    violations.push(...(await raceOverTargets(first, claimers.slice(0, CLAIMERS / 2), waitsMs)));
  }

  const waitMs = rounded(percentile(waitsMs, 0.9));
  if (waitMs > SERVED_WITHIN_MS)
    violations.push(`claimers waited ${waitMs} ms (p90) although there was work`);
  violations.push(...(await shareQueue(first, claimers, options.jobs)));
  return report({
    proof: options.servers === 1 ? 'contention' : `contention-${options.servers}-servers`,
    store: store.kind,
    summary:
      `${options.rounds * 2} races of ${CLAIMERS} claimers and ${options.rounds} of ${CLAIMERS} creators with one key ` +
      `over ${options.servers} server(s), waits over two targets p90 ${waitMs} ms, ` +
      `${options.jobs} jobs shared by ${CLAIMERS} workers`,
    counts: { races: options.rounds * 3, jobs: options.jobs, servers: options.servers },
    violations,
    startedMs,
  });
}

/** Each with a connection of its own, spread over the servers and both claws. */
function claimerOf(servers: readonly TestServer[], index: number): HttpClient {
  const server = servers[index % servers.length];
  if (server === undefined) throw new Error('no server');
  return httpClient(server.url, { token: index < CLAIMERS / 2 ? server.tokens.left : server.tokens.right });
}

async function create(server: TestServer): Promise<string> {
  return (await server.head.post<JobBody>('/jobs', { target: 'any' })).body.id;
}

async function raceById(server: TestServer, claimers: readonly HttpClient[]): Promise<string[]> {
  const id = await create(server);
  const answers = await Promise.all(claimers.map((claimer) => claimer.post<JobBody>(`/jobs/${id}/claim`)));
  const violations: string[] = [];
  const winners = answers.filter((answer) => answer.status === 200).length;
  if (winners !== 1) violations.push(`${winners} claimers won job ${id}`);
  for (const answer of answers) {
    if (answer.status === 200 || (answer.status === 409 && answer.body.error === 'already_claimed')) continue;
    violations.push(`a loser of job ${id} was told ${answer.status} ${answer.text.slice(0, 200)}`);
  }
  const job = (await server.head.get<JobBody>(`/jobs/${id}`)).body;
  if (job.attempts !== 1) violations.push(`job ${id} counts ${job.attempts} attempts after one race`);
  return violations;
}

async function raceForNext(server: TestServer, claimers: readonly HttpClient[]): Promise<string[]> {
  const id = await create(server);
  const answers = await Promise.all(claimers.map((claimer) => claimNext(claimer)));
  const given = answers.flatMap((answer) => answer.body.jobs.map((job) => job.id));
  return given.length === 1 && given[0] === id
    ? []
    : [`claim next for job ${id} gave ${given.join(' ') || 'nothing'}`];
}

/** As many jobs as claimers, in two targets that all of them serve: everybody gets one, and soon. */
async function raceOverTargets(
  server: TestServer,
  claimers: readonly HttpClient[],
  waitsMs: number[],
): Promise<string[]> {
  const jobs = claimers.map((_, index) => ({ target: index % 2 === 0 ? 'left-claw' : 'any' }));
  await server.head.post('/jobs/batch', { jobs });
  const given = await Promise.all(
    claimers.map(async (claimer) => {
      const askedMs = performance.now();
      const answer = await claimer.post<{ jobs: JobBody[] }>('/jobs/claim', { waitMs: 5_000 });
      waitsMs.push(performance.now() - askedMs);
      return answer.body.jobs.map((job) => job.id);
    }),
  );
  const ids = new Set(given.flat());
  return ids.size === claimers.length
    ? []
    : [`${claimers.length} claimers got ${ids.size} jobs of two targets`];
}

/** Ten callers with one Idempotency-Key, half of them a second time: one job, and everybody is told of it. */
async function raceToCreate(servers: readonly TestServer[], round: number): Promise<string[]> {
  const key = `contended-${round}`;
  const creator = async (_: unknown, index: number): Promise<Answer<JobBody>> => {
    const server = servers[index % servers.length] as TestServer;
    return server.head.post<JobBody>(
      '/jobs',
      { target: 'nobody-serves' },
      { headers: { 'idempotency-key': key } },
    );
  };
  const answers = await Promise.all(Array.from({ length: CLAIMERS }, creator));
  const again = await Promise.all(Array.from({ length: CLAIMERS / 2 }, creator));
  const told = new Set([...answers, ...again].map(({ status, body }) => `${status} ${body.id}`));
  return told.size === 1 && answers[0]?.status === 201 && answers[0].body.id !== undefined
    ? []
    : [`creators with one key were told ${[...told].join(', ')}`];
}

function claimNext(claimer: HttpClient): Promise<Answer<{ jobs: JobBody[] }>> {
  return claimer.post('/jobs/claim', { max: 1 });
}

async function shareQueue(
  server: TestServer,
  workers: readonly HttpClient[],
  jobs: number,
): Promise<string[]> {
  const created = await server.head.post<{ jobs: JobBody[] }>('/jobs/batch', {
    jobs: Array.from({ length: jobs }, () => ({ target: 'any' })),
  });
  const ids = created.body.jobs.map((job) => job.id);
  const doneBy = await Promise.all(workers.map(workUntilEmpty));
  const done = doneBy.flat();
  const violations: string[] = [];
  if (done.length !== jobs) violations.push(`${done.length} completions of ${jobs} jobs`);
  for (const id of ids) {
    const times = done.filter((other) => other === id).length;
    if (times !== 1) violations.push(`job ${id} was done ${times} times`);
    const job = (await server.head.get<JobBody>(`/jobs/${id}`)).body;
    if (job.state !== 'done' || job.attempts !== 1)
      violations.push(`job ${id} is ${job.state} after ${job.attempts}`);
  }
  return violations;
}

async function workUntilEmpty(worker: HttpClient): Promise<string[]> {
  const done: string[] = [];
  for (;;) {
    const job = (await claimNext(worker)).body.jobs[0];
    if (job === undefined) return done;
    const answer = await worker.post(`/jobs/${job.id}/complete`, { leaseToken: job.leaseToken });
    if (answer.status === 200) done.push(job.id);
  }
}
