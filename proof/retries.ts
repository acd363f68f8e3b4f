import { setTimeout as sleep } from 'node:timers/promises';
import { type Job, SpineClient } from '../src/client/index.ts';
import { anthropic, type StandIn } from '../test/support/anthropic.ts';
import { type Bot, telegram } from '../test/support/telegram.ts';
import { startServer, type TestServer } from '../test/support/server.ts';
import { seeded } from './random.ts';
import { type ProofReport, report } from './report.ts';
import {
  checkStory,
  HOPELESS,
  HOPELESS_WORDS,
  isOver,
  KINDS,
  MAX_RETRIES,
  wordsOf,
} from './retries/check.ts';
import { Kills, STEPS } from './retries/kills.ts';
import type { ProofStore } from './stores.ts';

const KEY = 'sk-ant-proof';
const PASSWORD = 'a password of some length';
const BOTS = 6;
const ENDED_WITHIN_MS = 600_000;
const LOOK_MS = 100;
const BOT_TOKEN = '123456:token';
/** A chat takes a message a second, and of a thousand lines that wait the next ones are counted only: no more may come than it takes. */
const WAITING_LINES = 600;
const PAGE = 1_000;
/** The later ones fail for reasons of their own, so that there is something to ask when servers were killed already. */
const WAVES = 3;

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
  const kills = new Kills();
  model.say = async (asked) => {
    kills.at('a question');
    await sleep(options.modelMs);
    kills.at('an advice');
    return asked.includes(HOPELESS_WORDS) ? 'SKIP - there is no such ticker' : 'Wait longer.';
  };
  const chat = stack.use(await telegram(BOT_TOKEN));
  const servers = await openServers(store, stack, { model, chat, modelMs: options.modelMs });
  const [first = fail()] = servers;
  const head = new SpineClient({ baseUrl: first.url, token: first.tokens.head });
  stack.defer(() => head.close());
  await head.types.save('crawl', { maxRetries: MAX_RETRIES });
  const roots = await createTasks(head, options.tasks, (i) => Math.floor((WAVES * i) / options.tasks));
  const bots = await Promise.all(Array.from({ length: BOTS }, (_, i) => addBot(first, i)));
  const over = new AbortController();
  const line = { isFull: false };
  const watching = [watchChat(first, chat, line, kills, over.signal), watchRetries(head, kills, over.signal)];
  const working = bots.map((token, i) => work(servers, { i, token, line, kills }, over.signal));
  await kills.run(servers, options.kills, random, async () => {
    roots.push(...(await createTasks(head, BOTS, () => WAVES - 1)));
  });
  await untilOver(first, head);
  over.abort();
  await Promise.all([...working, ...watching]);
  const jobs = await allJobs(head);
  const doubted = doubtedIn(model.asked);
  const violations = checkStory({ roots, jobs, doubted, lines: await linesOf(first), told: chat.texts });
  const missed = STEPS.slice(0, options.kills).filter((step) => !kills.done.has(step));
  violations.push(...missed.map((step) => `no server was killed during ${step}`));
  // What was asked when all were killed is asked once more: eight questions at a time at most.
  const mostAsked = WAVES * KINDS + 8 * options.kills;
  if (model.asked.length > mostAsked)
    violations.push(`the model was asked ${model.asked.length} times, not ${mostAsked}`);
  return report({
    proof: 'retries',
    store: store.kind,
    summary:
      `${roots.length} tasks failed ${jobs.length} times, one retry each and never above ${MAX_RETRIES}, ` +
      `${model.asked.length} questions to a model that takes ${options.modelMs} ms, ` +
      `${options.kills} kills of ${servers.length} server(s), ${[...kills.done].map(([step, n]) => `${n} during ${step}`).join(', ')}`,
    counts: { tasks: roots.length, jobs: jobs.length, kills: options.kills, asked: model.asked.length },
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
  { model, chat, modelMs }: { readonly model: StandIn; readonly chat: Bot; readonly modelMs: number },
): Promise<TestServer[]> {
  const env = {
    ANTHROPIC_API_KEY: KEY,
    ANTHROPIC_BASE_URL: model.url,
    SPINE_RETRY_SCAN_MS: '200',
    SPINE_ADVICE_TIMEOUT_MS: String(Math.max(5_000, 5 * modelMs)),
    // Tasks of one kind fail in the same way, one after another.
    SPINE_BREAKER_FAILURES: '0',
    // Questions that died with their server are asked again.
    SPINE_ADVICE_PER_HOUR: '1000',
    TELEGRAM_BOT_TOKEN: BOT_TOKEN,
    TELEGRAM_CHAT_ID: '-100',
    TELEGRAM_API_URL: chat.url,
    TELEGRAM_BATCH_MS: '300',
  };
  const count = store.kind === 'postgres' ? 2 : 1;
  const starts = Array.from({ length: count }, () =>
    startServer({ ...store.server, env, logLevel: 'error' }),
  );
  return (await Promise.all(starts)).map((server) => stack.use(server));
}

async function createTasks(
  head: SpineClient,
  count: number,
  waveOf: (i: number) => number,
): Promise<string[]> {
  const ids: string[] = [];
  const drafts = Array.from({ length: count }, (_, i) => ({
    target: 'any',
    type: 'crawl',
    title: `Task ${i}`,
    params: { failure: i % KINDS, wave: waveOf(i) },
    announce: true,
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
  readonly params: { readonly failure: number; readonly wave: number };
}

interface Worker {
  readonly i: number;
  readonly token: string;
  readonly line: { readonly isFull: boolean };
  readonly kills: Kills;
}

/** Fails whatever it gets. What it took without hearing of it, it finds in its list. */
async function work(
  servers: readonly TestServer[],
  { i, token, line, kills }: Worker,
  over: AbortSignal,
): Promise<void> {
  for (let round = i; !over.aborted; round++) {
    const { url } = servers[round % servers.length] ?? fail();
    try {
      if (line.isFull) {
        await sleep(LOOK_MS);
        continue;
      }
      const claiming = call<Task | null>(url, token, 'POST', '/tasks/claim', {});
      kills.at('a claim');
      const found = await claiming;
      const held =
        found === null ? await call<Task[]>(url, token, 'GET', '/tasks?status=in_progress') : [found];
      for (const { id, params } of held) {
        const error = `${wordsOf(params.failure, params.wave)} (request ${round})`;
        await call(url, token, 'POST', `/tasks/${id}/result`, { result: { error } });
        const failing = call(url, token, 'PUT', `/tasks/${id}/status`, { status: 'failed' });
        kills.at('a failure');
        await failing;
      }
      if (held.length === 0) await sleep(LOOK_MS);
    } catch {
      // A server that was killed comes back.
      await sleep(LOOK_MS);
    }
  }
}

/** Says when too many lines wait for the chat, and when it was just told something. */
async function watchChat(
  { head }: TestServer,
  chat: Bot,
  line: { isFull: boolean },
  kills: Kills,
  over: AbortSignal,
): Promise<void> {
  for (let [looks, came] = [0, 0]; !over.aborted; looks++) {
    if (chat.came.length > came) kills.at('a message');
    came = chat.came.length;
    if (looks % 50 === 0) {
      const waiting = await waitingLines(head).catch(() => WAITING_LINES);
      line.isFull = waiting >= WAITING_LINES;
    }
    await sleep(10);
  }
}

/** Says when a retry was just made. */
async function watchRetries(head: SpineClient, kills: Kills, over: AbortSignal): Promise<void> {
  while (!over.aborted)
    try {
      for await (const { data } of head.events({ signal: over, filter: { type: 'job.created' } }))
        if (data.retryOf !== undefined) kills.at('a retry');
    } catch {
      await sleep(LOOK_MS);
    }
}

async function waitingLines(head: TestServer['head']): Promise<number> {
  const { status, body } = await head.get<{ deliveries: unknown[] }>(
    `/deliveries?status=pending&limit=${PAGE}`,
  );
  return status === 200 ? body.deliveries.length : PAGE;
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

/** No retry of anything will come any more, and nothing waits to be told. */
async function untilOver(server: TestServer, head: SpineClient): Promise<void> {
  const untilMs = performance.now() + ENDED_WITHIN_MS;
  while (performance.now() < untilMs) {
    const jobs = await allJobs(head);
    const retried = new Set(jobs.flatMap(({ retryOf }) => retryOf ?? []));
    const waiting = await waitingLines(server.head).catch(() => PAGE);
    if (waiting === 0 && jobs.every((job) => isOver(job, retried))) return;
    await sleep(10 * LOOK_MS);
  }
}

/** Waves whose hopeless tasks were asked about twice, though it is done once where nobody dies. */
function doubtedIn(asked: readonly string[]): number[] {
  return Array.from({ length: WAVES }, (_, wave) => wave).filter((wave) => {
    const words = `${wordsOf(HOPELESS, wave)} (`;
    return asked.filter((question) => question.includes(words)).length > 1;
  });
}

/** For each line that was made for the chat, the job it is about. */
async function linesOf({ head }: TestServer): Promise<string[]> {
  const lines: string[] = [];
  for (let before: number | null = Number.MAX_SAFE_INTEGER; before !== null; ) {
    const path: string = `/deliveries?limit=${PAGE}&before=${before}`;
    const { body } = await head.get<{ deliveries: { run_id: string }[]; next_before: number | null }>(path);
    lines.push(...body.deliveries.map(({ run_id }) => run_id));
    before = body.next_before;
  }
  return lines;
}

async function allJobs(head: SpineClient): Promise<Job[]> {
  const jobs: Job[] = [];
  for (const state of ['failed', 'dead', 'queued', 'running', 'done', 'cancelled'] as const)
    for await (const job of head.jobs.list({ state, limit: 500 })) jobs.push(job);
  return jobs;
}
