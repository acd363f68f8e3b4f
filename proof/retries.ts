import { setTimeout as sleep } from 'node:timers/promises';
import { type Job, SpineClient } from '../src/client/index.ts';
import { anthropic, type StandIn } from '../test/support/anthropic.ts';
import { startServer, type TestServer } from '../test/support/server.ts';
import { type Random, seeded } from './random.ts';
import { type ProofReport, report } from './report.ts';
import type { ProofStore } from './stores.ts';

const KEY = 'sk-ant-proof';
const PASSWORD = 'a password of some length';
const BOTS = 6;
const MAX_RETRIES = 2;
const ENDED_WITHIN_MS = 600_000;
const LOOK_MS = 100;
/** More lines than this in one chat are left out, and are not counted. */
const TOLD_TASKS = 100;
/** Each is one kind of failure; the last kind is one that no retry can mend. */
const HOPELESS_WORDS = 'no such ticker';
const FAILURES = ['alpha is broken', 'beta was refused', 'gamma has no posts', HOPELESS_WORDS];
const HOPELESS = FAILURES.length - 1;

export interface RetriesOptions {
  readonly tasks: number;
  readonly kills: number;
  readonly modelMs: number;
  readonly seed: number;
}

/**
 * Every task fails whenever it is tried, a slow model is asked what to make of it, and servers are killed all the time. Each
 * failure is followed by one retry and never by more than there may be, and by none where the model says so.
 */
export async function proveRetries(store: ProofStore, options: RetriesOptions): Promise<ProofReport> {
  const startedMs = performance.now();
  const random = seeded(options.seed);
  await using stack = new AsyncDisposableStack();
  const model = stack.use(await anthropic(KEY));
  model.say = async (asked) => {
    await sleep(options.modelMs);
    return asked.includes(HOPELESS_WORDS) ? 'SKIP - there is no such ticker' : 'Wait longer.';
  };
  const servers = await openServers(store, stack, model);
  const [first = fail()] = servers;
  const head = new SpineClient({ baseUrl: first.url, token: first.tokens.head });
  stack.defer(() => head.close());
  const roots = await createTasks(head, options.tasks);
  const bots = await Promise.all(Array.from({ length: BOTS }, (_, i) => addBot(first, i)));
  const over = new AbortController();
  const working = bots.map((token, i) => work(servers, i, token, over.signal));
  await killServers(servers, options.kills, random);
  await untilSettled(head, options.tasks);
  over.abort();
  await Promise.all(working);
  const jobs = await allJobs(head);
  const violations = judge(roots, jobs);
  if (options.tasks <= TOLD_TASKS) violations.push(...(await judgeChat(first, jobs)));
  // Whoever was killed while it asked is asked for again, once for each kill at most.
  const mostAsked = FAILURES.length + options.kills;
  if (model.asked.length > mostAsked)
    violations.push(`the model was asked ${model.asked.length} times, not ${mostAsked}`);
  return report({
    proof: 'retries',
    store: store.kind,
    summary:
      `${options.tasks} tasks failed ${jobs.length} times, one retry each and never above ${MAX_RETRIES}, ` +
      `${model.asked.length} questions to a model that takes ${options.modelMs} ms, ` +
      `${options.kills} kills of ${servers.length} server(s) meanwhile`,
    counts: { tasks: options.tasks, jobs: jobs.length, kills: options.kills, asked: model.asked.length },
    violations,
    startedMs,
  });
}

function fail(): never {
  throw new Error('there is no server');
}

async function openServers(
  store: ProofStore,
  stack: AsyncDisposableStack,
  model: StandIn,
): Promise<TestServer[]> {
  const env = {
    ANTHROPIC_API_KEY: KEY,
    ANTHROPIC_BASE_URL: model.url,
    SPINE_RETRY_SCAN_MS: '200',
    // All of them fail for one of four reasons.
    SPINE_BREAKER_FAILURES: '0',
    TELEGRAM_BOT_TOKEN: '123456:token',
    TELEGRAM_CHAT_ID: '-100',
    // Nobody is there: what is to be told waits, and can be counted.
    TELEGRAM_API_URL: 'http://127.0.0.1:9',
  };
  const count = store.kind === 'postgres' ? 2 : 1;
  const starts = Array.from({ length: count }, () =>
    startServer({ ...store.server, env, logLevel: 'error' }),
  );
  return (await Promise.all(starts)).map((server) => stack.use(server));
}

async function createTasks(head: SpineClient, count: number): Promise<readonly string[]> {
  await head.types.save('crawl', { maxRetries: MAX_RETRIES });
  const ids: string[] = [];
  const drafts = Array.from({ length: count }, (_, i) => ({
    target: 'any',
    type: 'crawl',
    title: `Task ${i}`,
    params: { failure: i % FAILURES.length },
    announce: count <= TOLD_TASKS,
  }));
  for (let i = 0; i < count; i += 500)
    ids.push(...(await head.jobs.createBatch(drafts.slice(i, i + 500))).map(({ id }) => id));
  return ids;
}

/** The token of its login: it holds at every server, and after every restart. */
async function addBot(server: TestServer, i: number): Promise<string> {
  const email = `bot-${i}@example.org`;
  const user = { email, password: PASSWORD, fullName: `Bot ${i}`, worker: true };
  await server.head.post('/users', user);
  const login = await server.anyone.post<{ access_token: string }>('/api/v1/auth/login', {
    email,
    password: PASSWORD,
  });
  return login.body.access_token;
}

interface Task {
  readonly id: string;
  readonly params: { readonly failure: number };
}

/** Fails whatever it gets. What it took without hearing of it, it finds in its list. */
async function work(
  servers: readonly TestServer[],
  i: number,
  token: string,
  over: AbortSignal,
): Promise<void> {
  for (let round = i; !over.aborted; round++) {
    const { url } = servers[round % servers.length] ?? fail();
    try {
      const found = await call<Task | null>(url, token, 'POST', '/tasks/claim', {});
      const held =
        found === null ? await call<Task[]>(url, token, 'GET', '/tasks?status=in_progress') : [found];
      for (const { id, params } of held) {
        const error = `${FAILURES[params.failure]} (request ${round})`;
        await call(url, token, 'POST', `/tasks/${id}/result`, { result: { error } });
        await call(url, token, 'PUT', `/tasks/${id}/status`, { status: 'failed' });
      }
      if (held.length === 0) await sleep(LOOK_MS);
    } catch {
      // A server that was killed comes back.
      await sleep(LOOK_MS);
    }
  }
}

async function call<T>(url: string, token: string, method: string, path: string, body?: object): Promise<T> {
  const answer = await fetch(`${url}/api/v1/worker${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(30_000),
  });
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
  return ((await answer.json()) as { data: T }).data;
}

async function killServers(servers: readonly TestServer[], kills: number, random: Random): Promise<void> {
  for (let done = 0; done < kills; done++) {
    await sleep(100 + random.int(1_500));
    await (servers[random.int(servers.length)] ?? fail()).restart();
  }
}

/** The hopeless ones end with their first try, all others with their last. */
async function untilSettled(head: SpineClient, tasks: number): Promise<void> {
  const hopeless = Math.floor((tasks + FAILURES.length - 1 - HOPELESS) / FAILURES.length);
  const untilMs = performance.now() + ENDED_WITHIN_MS;
  while (performance.now() < untilMs) {
    const { states } = await head.stats();
    const open = states.queued + states.running + states.scheduled + states.blocked;
    if (open === 0 && states.dead >= tasks - hopeless) return;
    await sleep(LOOK_MS);
  }
}

async function allJobs(head: SpineClient): Promise<Job[]> {
  const jobs: Job[] = [];
  for (const state of ['failed', 'dead', 'queued', 'running', 'done', 'cancelled'] as const)
    for await (const job of head.jobs.list({ state, limit: 500 })) jobs.push(job);
  return jobs;
}

/** Follows each task from its first try to its last. */
function judge(roots: readonly string[], jobs: readonly Job[]): string[] {
  const found: string[] = [];
  const byId = new Map(jobs.map((job) => [job.id, job]));
  const followers = Map.groupBy(
    jobs.filter(({ retryOf }) => retryOf !== undefined),
    ({ retryOf = '' }) => retryOf,
  );
  let seen = 0;
  for (const root of roots) {
    const chain: Job[] = [];
    for (let next = byId.get(root); next !== undefined; ) {
      chain.push(next);
      const after: readonly Job[] = followers.get(next.id) ?? [];
      if (after.length > 1) found.push(`${next.id} was retried ${after.length} times`);
      next = after[0];
    }
    seen += chain.length;
    found.push(...judgeChain(chain).map((what) => `${root} ${what}`));
  }
  if (seen !== jobs.length) found.push(`${jobs.length - seen} jobs belong to no task`);
  return found;
}

function judgeChain(chain: readonly Job[]): string[] {
  const [root] = chain;
  const isHopeless = (root?.params as { failure?: number } | undefined)?.failure === HOPELESS;
  const length = isHopeless ? 1 : MAX_RETRIES + 1;
  const wrong: string[] = [];
  if (chain.length !== length)
    wrong.push(
      `has ${chain.length} tries, not ${length}, and the last was told: ${chain.at(-1)?.description}`,
    );
  for (const [i, { state, title, comments }] of chain.entries()) {
    const isLast = i === chain.length - 1;
    const wanted = isLast && !isHopeless ? 'dead' : 'failed';
    if (state !== wanted) wrong.push(`is ${state} at its try ${i}, not ${wanted}`);
    if (title !== `${root?.title}${i === 0 ? '' : ` (retry ${i})`}`) wrong.push(`is called ${title}`);
    const said = comments.map(({ text }) => text).join(' | ');
    const due = isLast ? (isHopeless ? 'No retry: there is no such ticker' : '') : `Retry #${i + 1} created`;
    if (said !== due) wrong.push(`says "${said}" at its try ${i}`);
  }
  return wrong;
}

/** One alert for each task that is given up, whoever was killed while it was written. */
async function judgeChat({ head }: TestServer, jobs: readonly Job[]): Promise<string[]> {
  const { body } = await head.get<{ deliveries: { text: string; run_id: string }[] }>(
    '/deliveries?limit=1000',
  );
  const alerts = body.deliveries.filter(({ text }) => text.includes('Needs human attention'));
  const told = Map.groupBy(alerts, (alert) => alert.run_id);
  const last = jobs.filter(
    ({ id, state }) => state === 'dead' || !jobs.some(({ retryOf }) => retryOf === id),
  );
  const wrong = last.filter(({ id }) => told.get(id)?.length !== 1);
  const found = wrong.map(({ id }) => `${id} was told of ${told.get(id)?.length ?? 0} times`);
  if (alerts.length !== last.length) found.push(`${alerts.length} alerts for ${last.length} tasks`);
  return found;
}
