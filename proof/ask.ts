import { setTimeout as sleep } from 'node:timers/promises';
import { type JobContext, type Question, SpineApiError, SpineClient, Worker } from '../src/client/index.ts';
import { startServer, type TestServer } from '../test/support/server.ts';
import { type Random, seeded } from './random.ts';
import { type ProofReport, report } from './report.ts';
import type { ProofStore } from './stores.ts';

/** Longer than all outages together: whoever holds a job when its server dies still holds it afterwards. */
const LEASE_MS = 120_000;
const WORKERS = 4;
const AT_ONCE = 5;
/** What each part of a job takes, so that kills come in the middle of everything. */
const PART_MS = 300;
/** So many questions of one look are answered. */
const ANSWERED_AT_ONCE = 3;
/** Every so many jobs are answered by nobody, and take their default. */
const SILENT_EVERY = 5;
const SILENT_MS = 2_000;
const ENDED_WITHIN_MS = 180_000;
const LOOK_MS = 50;

export interface AskOptions {
  readonly jobs: number;
  readonly kills: number;
  readonly seed: number;
}

/** How often a job was begun, and what it had when it went on. */
interface Leg {
  begun: number;
  readonly continued: { readonly answer: unknown; readonly checkpoint: unknown }[];
}

/** Jobs ask and wait while servers are killed and two callers answer, late too: each goes on once, in its one attempt. */
export async function proveAsk(store: ProofStore, options: AskOptions): Promise<ProofReport> {
  const startedMs = performance.now();
  const random = seeded(options.seed);
  await using stack = new AsyncDisposableStack();
  const servers = await openServers(store, stack);
  const [first = fail()] = servers;
  const legs = new Map<string, Leg>();
  const ids = await createJobs(first, options.jobs);
  const workers = startWorkers(servers, legs);
  const kills = killServers(servers, options.kills, random);
  const answers = { taken: 0, refused: 0 };
  const over = new AbortController();
  const answering = Promise.all(
    servers.map((server, i) => answerAll(server, `answer ${i}`, over.signal, answers)),
  );
  await kills;
  await untilEnded(first, ids.length);
  over.abort();
  await answering;
  await workers.stop();
  const violations = await judge(first, ids, legs);
  violations.push(...(await answerLate(first, answers)));
  return report({
    proof: 'ask',
    store: store.kind,
    summary:
      `${ids.length} jobs asked and went on once each, ${options.kills} kills of ${servers.length} server(s) meanwhile, ` +
      `${answers.taken} answers taken and ${answers.refused} refused as second ones, no attempt used for waiting`,
    counts: { jobs: ids.length, kills: options.kills, ...answers, seed: options.seed },
    violations,
    startedMs,
  });
}

function fail(): never {
  throw new Error('there is no server');
}

async function openServers(store: ProofStore, stack: AsyncDisposableStack): Promise<TestServer[]> {
  const count = store.kind === 'postgres' ? 2 : 1;
  const starts = Array.from({ length: count }, () =>
    startServer({ ...store.server, leaseMs: LEASE_MS, logLevel: 'error' }),
  );
  return (await Promise.all(starts)).map((server) => stack.use(server));
}

/** Each may run once: an attempt that is used for waiting would end it. */
async function createJobs(server: TestServer, count: number): Promise<readonly string[]> {
  const head = clientOf(server, server.tokens.head);
  const drafts = Array.from({ length: count }, (_, i) => ({
    target: 'any',
    maxAttempts: 1,
    spec: { silent: i % SILENT_EVERY === 0 },
  }));
  const ids: string[] = [];
  for (let i = 0; i < count; i += 500)
    ids.push(...(await head.jobs.createBatch(drafts.slice(i, i + 500))).map(({ id }) => id));
  await head.close();
  return ids;
}

function clientOf({ url }: TestServer, token: string): SpineClient {
  return new SpineClient({ baseUrl: url, token });
}

function startWorkers(servers: readonly TestServer[], legs: Map<string, Leg>) {
  const running = Array.from({ length: WORKERS }, (_, i) => {
    const server = servers[i % servers.length] ?? fail();
    const client = clientOf(server, server.tokens.left);
    const worker = new Worker({
      client,
      targets: ['any'],
      concurrency: AT_ONCE,
      waitMs: 1_000,
      handler: (job, context) => work(job.id, job.spec, context, legs),
      // A server that is away comes back.
      onError: () => undefined,
    });
    return { client, worker, ended: worker.run() };
  });
  return {
    stop: async () => {
      for (const { client, worker, ended } of running) {
        await worker.stop();
        await ended;
        await client.close();
      }
    },
  };
}

async function work(
  id: string,
  spec: unknown,
  context: JobContext,
  legs: Map<string, Leg>,
): Promise<unknown> {
  const leg = legs.get(id) ?? { begun: 0, continued: [] };
  legs.set(id, leg);
  if (context.answers.length === 0) {
    leg.begun++;
    await context.checkpoint(`half of ${id}`);
  }
  await sleep(PART_MS);
  const silent = (spec as { silent: boolean }).silent;
  const answer = await context.ask({
    question: `What about ${id}?`,
    to: 'head',
    timeoutMs: silent ? SILENT_MS : ENDED_WITHIN_MS,
    ...(silent && { default: 'nobody' }),
  });
  leg.continued.push({ answer, checkpoint: context.lastCheckpoint });
  return { answer };
}

async function killServers(servers: readonly TestServer[], kills: number, random: Random): Promise<void> {
  for (let done = 0; done < kills; done++) {
    await sleep(50 + random.int(400));
    await (servers[random.int(servers.length)] ?? fail()).restart();
  }
}

interface Counts {
  taken: number;
  refused: number;
}

/** Everybody who answers sends everything twice, and does not hear of each other. */
async function answerAll(
  server: TestServer,
  words: string,
  over: AbortSignal,
  counts: Counts,
): Promise<void> {
  const head = clientOf(server, server.tokens.head);
  const right = clientOf(server, server.tokens.right);
  while (!over.aborted) {
    const open = await head.questions.list({ open: true, limit: 200 }).catch(() => null);
    const wanted = (open?.questions ?? [])
      .filter(({ default: fallback }) => fallback === undefined)
      .slice(-ANSWERED_AT_ONCE);
    await Promise.all(
      wanted.flatMap(({ id }) => [
        answerOnce(head, id, words, counts),
        answerOnce(head, id, `${words}, otherwise`, counts),
        answerOnce(right, id, words, counts),
      ]),
    );
    await sleep(LOOK_MS);
  }
  await Promise.all([head.close(), right.close()]);
}

async function answerOnce(client: SpineClient, id: string, words: string, counts: Counts): Promise<void> {
  try {
    await client.questions.answer(id, words);
    counts.taken++;
  } catch (error) {
    // Whoever met a server that died tries again with the next look.
    if (error instanceof SpineApiError && error.status < 500) counts.refused++;
  }
}

async function untilEnded(server: TestServer, count: number): Promise<void> {
  const head = clientOf(server, server.tokens.head);
  const untilMs = performance.now() + ENDED_WITHIN_MS;
  while (performance.now() < untilMs) {
    const { states } = await head.stats();
    if (states.done + states.dead + states.failed >= count) break;
    await sleep(LOOK_MS);
  }
  await head.close();
}

async function judge(
  server: TestServer,
  ids: readonly string[],
  legs: ReadonlyMap<string, Leg>,
): Promise<string[]> {
  const head = clientOf(server, server.tokens.head);
  const found: string[] = [];
  for (const id of ids) found.push(...(await judgeJob(head, id, legs.get(id))));
  await head.close();
  return found;
}

const LIFE = 'created claimed checkpoint asked answered claimed completed';

async function judgeJob(head: SpineClient, id: string, leg: Leg | undefined): Promise<string[]> {
  const job = await head.jobs.get(id);
  const { questions } = await head.questions.list({ job: id });
  const [question] = questions;
  const wrong: string[] = [];
  if (job.state !== 'done') wrong.push(`is ${job.state}`);
  if (job.attempts !== 1) wrong.push(`has ${job.attempts} attempts`);
  if (questions.length !== 1 || question?.status !== 'answered')
    wrong.push(`has ${questions.length} questions, the last of them ${question?.status}`);
  if (leg?.begun !== 1) wrong.push(`began ${leg?.begun ?? 0} times`);
  if (leg?.continued.length !== 1) wrong.push(`went on ${leg?.continued.length ?? 0} times`);
  for (const { answer, checkpoint } of leg?.continued ?? []) {
    if (answer !== question?.answer) wrong.push(`went on with ${String(answer)}`);
    if (checkpoint !== `half of ${id}`) wrong.push(`went on from ${String(checkpoint)}`);
  }
  const silent = (job.spec as { silent: boolean }).silent;
  if ((question?.answeredBy === 'timeout') !== silent) wrong.push(`was answered by ${question?.answeredBy}`);
  const life: string[] = [];
  // What was kept when the server died is kept once more.
  for await (const { type } of head.jobs.events(id))
    if (type !== 'job.heartbeat' && !(type === 'job.checkpoint' && life.at(-1) === 'checkpoint'))
      life.push(type.replace('job.', ''));
  if (life.join(' ') !== LIFE) wrong.push(`lived ${life.join(' ')}`);
  return wrong.map((what) => `${id} ${what}`);
}

/** After the end: the same answer of the same caller is a repetition, any other a second one; nothing moves. */
async function answerLate(server: TestServer, counts: Counts): Promise<string[]> {
  const head = clientOf(server, server.tokens.head);
  const before = await head.stats();
  const found: string[] = [];
  const { questions } = await head.questions.list({ limit: 50 });
  for (const question of questions) found.push(...(await late(head, question, counts)));
  const after = await head.stats();
  if (JSON.stringify(before.states) !== JSON.stringify(after.states)) found.push('a late answer moved a job');
  await head.close();
  return found;
}

async function late(head: SpineClient, question: Question, counts: Counts): Promise<string[]> {
  const statusOf = (answer: unknown): Promise<number> =>
    head.questions.answer(question.id, answer).then(
      () => 200,
      (error: unknown) => (error instanceof SpineApiError ? error.status : 0),
    );
  const other = await statusOf('much too late');
  const same = await statusOf(question.answer);
  counts.refused++;
  const expected = question.answeredBy === 'head' ? 200 : 409;
  if (other === 409 && same === expected) return [];
  return [`${question.id} answered late with ${other}, and again with ${same}`];
}
