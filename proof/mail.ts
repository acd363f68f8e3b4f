import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Answer, NoAnswer } from '../test/support/http.ts';
import { type StandIn, startStandIn } from '../test/support/gateway/stand-in.ts';
import { startServer, type TestServer } from '../test/support/server.ts';
import { checkMail } from './mail/check.ts';
import { heardBy } from './mail/ledger.ts';
import { missedViolations, planted } from './mail/planted.ts';
import { type Run, turnsOf } from './mail/prompted.ts';
import type { SentMessage, Story } from './mail/story.ts';
import { type Random, seeded } from './random.ts';
import { type ProofReport, report } from './report.ts';
import type { ProofStore } from './stores.ts';

/** Three are processes that are killed, and two are agents at a gateway. */
const WORKERS = ['anna', 'ben', 'cleo'];
const AT_GATEWAY = ['main', 'ops'];
const AGENTS = [...WORKERS, ...AT_GATEWAY];
const KINDS = ['constraint', 'decision', 'fact', 'task', 'preference', 'text', 'result', 'status', 'system'];
const LEASE_MS = 1_500;
const ARRIVE_WITHIN_MS = 120_000;
const FAILED_TURNS = 0.1;

export interface MailOptions {
  readonly messages: number;
  readonly kills: number;
  readonly seed: number;
}

interface World {
  readonly server: TestServer;
  readonly gateway: StandIn;
  readonly random: Random;
  readonly folder: string;
  /** When it was killed, and when it was there again. */
  readonly serverKills: number[];
  readonly agentKills: Record<string, number[]>;
  readonly processes: Map<string, ChildProcess>;
  readonly read: Set<string>;
  readonly tokens: Map<string, string>;
  /** Prompts of turns that failed. */
  readonly refused: ReadonlySet<string>;
  going: boolean;
}

/** Agents write to each other while the server and they themselves are killed: each message arrives once, in its order. */
export async function proveMail(store: ProofStore, options: MailOptions): Promise<ProofReport> {
  const { messages: count, kills, seed } = options;
  const startedMs = performance.now();
  await using stack = new AsyncDisposableStack();
  const world = await openWorld(store, seed, stack);
  const work = [
    ...WORKERS.map((agent) => giveJobs(world, agent)),
    ...AT_GATEWAY.map((agent) => giveTurns(world, agent)),
  ];
  const sending = sendAll(world, count);
  await killAgainAndAgain(world, kills);
  await sending;
  const left = await untilArrived(world);
  world.going = false;
  await Promise.all(work);
  for (const child of world.processes.values()) child.kill('SIGKILL');
  const story = await recordOf(world);
  const violations = [...checkMail(story), ...missedViolations(story)];
  if (left > 0) violations.push(`${left} messages have not arrived within ${ARRIVE_WITHIN_MS / 1_000} s`);
  const { messages, batches } = story;
  const { serverKills } = world;
  const receipts = messages
    .flatMap((message) => message.receipts)
    .filter(({ agent }) => AGENTS.includes(agent));
  const delivered = receipts.filter(({ delivered_at: at }) => at !== null).length;
  const expired = messages.filter(({ status }) => status === 'expired').length;
  return report({
    proof: 'mail',
    store: store.kind,
    summary:
      `${messages.length} messages to ${AGENTS.length} agents, ${delivered} deliveries in ${batches.length} answers and ` +
      `prompts, ${expired} expired, ${serverKills.length / 2} kills of the server and ${agentKillCount(world)} of agents`,
    counts: {
      messages: messages.length,
      deliveries: delivered,
      expired,
      planted: planted(story).filter(({ story: bad }) => bad !== null).length,
      kills: serverKills.length / 2,
      seed,
    },
    violations,
    startedMs,
  });
}

async function openWorld(store: ProofStore, seed: number, stack: AsyncDisposableStack): Promise<World> {
  const gateway = await startStandIn({ token: null });
  stack.defer(() => gateway.stop());
  gateway.state.websocket = false;
  const random = seeded(seed);
  const refused = new Set<string>();
  gateway.state.plan = (prompt) => {
    if (!random.chance(FAILED_TURNS)) return { text: 'ok', delayMs: random.int(100) };
    refused.add(prompt);
    return { failure: { status: 500, type: 'api_error', message: 'broken' } };
  };
  const server = stack.use(
    await startServer({
      ...store.server,
      leaseMs: LEASE_MS,
      reaperIntervalMs: 200,
      env: {
        SPINE_GATEWAY: 'on',
        OPENCLAW_GATEWAY_URL: gateway.url,
        SCHEDULER_TICK_MS: '1000',
        SCHEDULER_MESSAGE_DELIVERY_MS: '500',
      },
    }),
  );
  const folder = mkdtempSync(path.join(tmpdir(), 'spine-mail-'));
  stack.defer(() => rmSync(folder, { recursive: true, force: true }));
  const world: World = {
    server,
    gateway,
    random,
    folder,
    serverKills: [],
    agentKills: {},
    processes: new Map(),
    read: new Set(),
    tokens: new Map(),
    refused,
    going: true,
  };
  stack.defer(() => world.processes.forEach((child) => child.kill('SIGKILL')));
  for (const agent of WORKERS) {
    const made = await server.head.post<{ token: string }>('/tokens', {
      name: agent,
      role: 'worker',
      targets: [agent],
    });
    world.tokens.set(agent, made.body.token);
    startAgent(world, agent);
  }
  for (const id of AT_GATEWAY) await server.head.post('/agents', { id });
  return world;
}

function startAgent({ server, tokens, folder, processes }: World, agent: string): void {
  const script = fileURLToPath(new URL('./mail/agent.ts', import.meta.url));
  const args = [script, server.url, tokens.get(agent) ?? '', path.join(folder, `${agent}.jsonl`)];
  processes.set(agent, spawn(process.execPath, args, { stdio: 'ignore' }));
}

/** Repeats a call until it is answered; the server may be away. */
async function insist<T>(call: () => Promise<Answer<T>>): Promise<Answer<T>> {
  for (;;) {
    try {
      const answer = await call();
      if (answer.status < 500 && answer.status !== 429) return answer;
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
    }
    await sleep(50);
  }
}

/** A call whose answer is lost is sent again: then there are two messages, and each must arrive. */
async function sendAll(world: World, count: number): Promise<void> {
  const { random, server } = world;
  for (let i = 0; i < count; i++) {
    const to = random.chance(0.1) ? 'broadcast' : random.pick(AGENTS);
    const from = random.pick(AGENTS.filter((agent) => agent !== to));
    const body = {
      // All five have to hear what is said to all of them.
      ...(to !== 'broadcast' && { from_agent: from }),
      to_agent: to,
      kind: random.pick(KINDS),
      priority: random.int(3),
      body: `message ${i}`,
      ...lifeOf(random),
    };
    const sent = await insist(() => server.head.post<{ id: string }>('/messages', body));
    if (sent.status !== 201) throw new Error(`a message was refused: ${sent.text}`);
    if (random.chance(0.05)) await readBy(world, sent.body.id, to === 'broadcast' ? random.pick(AGENTS) : to);
    await sleep(random.int(8));
  }
}

/** Some have run out before they are sent, some run out soon, most never. */
function lifeOf(random: Random): object {
  if (random.chance(0.05)) return { expires_at: Date.now() - 1_000 };
  return random.chance(0.05) ? { ttl_s: 1 + random.int(3) } : {};
}

async function readBy({ server, read }: World, id: string, agent: string): Promise<void> {
  await insist(() => server.head.post(`/messages/${id}/read`, { agent }));
  read.add(`${id} ${agent}`);
}

async function giveJobs(world: World, agent: string): Promise<void> {
  const { server, random } = world;
  while (world.going) {
    const spec = { forMs: random.chance(0.3) ? 600 + random.int(1_200) : random.int(100) };
    await insist(() => server.head.post('/jobs', { target: agent, spec, maxAttempts: 50 }));
    await sleep(60 + random.int(100));
  }
}

async function giveTurns(world: World, agent: string): Promise<void> {
  const { server } = world;
  const body = {
    name: `turns of ${agent}`,
    schedule_kind: 'manual',
    agent_id: agent,
    payload_message: 'go on',
  };
  const made = await insist(() =>
    server.head.post<{ id: string }>('/schedules', { ...body, overlap_policy: 'allow' }),
  );
  while (world.going) {
    await insist(() => server.head.post(`/schedules/${made.body.id}/run`, {}));
    await sleep(150);
  }
}

async function killAgainAndAgain(world: World, kills: number): Promise<void> {
  const { random, server, processes, agentKills, serverKills } = world;
  for (let done = 0; done < kills; done++) {
    await sleep(200 + random.int(600));
    const agent = random.pick(WORKERS);
    processes.get(agent)?.kill('SIGKILL');
    (agentKills[agent] ??= []).push(Date.now());
    startAgent(world, agent);
    if (!random.chance(0.5)) continue;
    await sleep(random.int(200));
    serverKills.push(Date.now());
    await server.kill('SIGKILL');
    await server.restart();
    serverKills.push(Date.now());
  }
}

/** How many still wait. */
async function untilArrived(world: World): Promise<number> {
  const deadlineMs = performance.now() + ARRIVE_WITHIN_MS;
  for (;;) {
    const pending = (await allMessages(world)).filter(
      ({ status, receipts }) => status === 'pending' && isOpen(receipts),
    );
    if (pending.length === 0 || performance.now() > deadlineMs) return pending.length;
    await sleep(500);
  }
}

/** The claws of the environment are agents too, and nobody works for them here. */
function isOpen(receipts: SentMessage['receipts']): boolean {
  return receipts.some(({ agent, delivered_at: at }) => at === null && AGENTS.includes(agent));
}

/** Oldest first. */
async function allMessages({ server }: World): Promise<SentMessage[]> {
  const all: SentMessage[] = [];
  for (let before = ''; ; ) {
    const { body } = await insist(() =>
      server.head.get<{ messages: SentMessage[]; next_before: number | null }>(
        `/messages?limit=1000${before}`,
      ),
    );
    all.push(...body.messages);
    if (body.next_before === null) return all.toReversed();
    before = `&before=${body.next_before}`;
  }
}

async function recordOf(world: World): Promise<Story> {
  const { gateway, refused, folder, serverKills, agentKills, read } = world;
  const messages = await allMessages(world);
  const endedAt = Date.now();
  const known = new Set(messages.map(({ id }) => id));
  const runOf = async (id: string): Promise<Run> =>
    (await insist(() => world.server.head.get<Run>(`/runs/${id}`))).body;
  const heard = WORKERS.flatMap((agent) => heardBy(agent, path.join(folder, `${agent}.jsonl`)));
  const prompted = await turnsOf(gateway, { known, refused, runOf });
  const batches = [...heard, ...prompted].toSorted((a, b) => a.at - b.at);
  const kills = [...serverKills, ...Object.values(agentKills).flat()];
  return { messages, agents: AGENTS, batches, kills, read, endedAt };
}

function agentKillCount({ agentKills }: World): number {
  return Object.values(agentKills).flat().length;
}
