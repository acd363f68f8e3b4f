import { setTimeout as sleep } from 'node:timers/promises';
import { httpClient } from '../test/support/http.ts';
import { type Net, startPostgresProxy } from '../test/support/postgres-proxy.ts';
import { startServer } from '../test/support/server.ts';
import { check } from './checker/check.ts';
import { untilAllEnded } from './kill.ts';
import { dumpJobs } from './kill/dump.ts';
import { Ledger } from './kill/ledger.ts';
import { type Load, produce } from './kill/load.ts';
import { work } from './kill/worker.ts';
import { rounded } from './measure.ts';
import { FAULTS, type Partitioned } from './partition/faults.ts';
import { type Random, seeded } from './random.ts';
import { type ProofReport, report } from './report.ts';
import type { ProofStore } from './stores.ts';

const SERVERS = 3;
const PRODUCERS = 2;
const WORKERS = 2;
const LEASE_MS = 2_000;
const BACKLOG = 200;
/** What a caller may have to wait for its answer, whatever the network does. */
const ANSWERED_MS = 6_000;
/** Far above: a call that nobody answers is found, not hidden. */
const PATIENCE_MS = 20_000;

export interface PartitionOptions {
  readonly faults: number;
  readonly seed: number;
  /** How many times as long as is promised everything may take; once where nothing else runs. */
  readonly slower?: number;
}

interface Strike {
  readonly name: string;
  readonly fromMs: number;
  untilMs: number;
}

/** What was broken while a call was under way. */
function beside(strikes: readonly Strike[], call: { invokedMs: number; endedMs: number }): string {
  const met = strikes.filter(({ fromMs, untilMs }) => fromMs < call.endedMs && untilMs > call.invokedMs);
  return met.map(({ name, fromMs }) => `${name} after ${Math.round(fromMs - call.invokedMs)} ms`).join(', ');
}

/** Three servers on one database, each behind a network that breaks again and again. */
export async function provePartition(store: ProofStore, options: PartitionOptions): Promise<ProofReport> {
  const startedMs = performance.now();
  const random = seeded(options.seed);
  const { slower = 1 } = options;
  await using stack = new AsyncDisposableStack();
  const servers: Partitioned[] = [];
  for (let index = 0; index < SERVERS; index++) servers.push(await openServer(store, stack, slower));
  const load = newLoad(random);
  const running = startLoad(servers, load);
  const violations: string[] = [];
  const healedMs: number[] = [];
  const strikes: Strike[] = [];
  for (let done = 0; done < options.faults; done++) {
    const fault = FAULTS[done % FAULTS.length] as (typeof FAULTS)[number];
    // Now and then all servers lose the database at once.
    const hit = done % 10 === 9 ? servers : [servers[random.int(SERVERS)] as Partitioned];
    const strike: Strike = { name: fault.name, fromMs: performance.now(), untilMs: Infinity };
    strikes.push(strike);
    const ends = await Promise.all(hit.map((server) => fault.strike(server, random.int(1_000))));
    strike.untilMs = performance.now();
    for (const { healMs, problems } of ends) {
      healedMs.push(healMs);
      violations.push(...problems.map((problem) => `fault ${done + 1}, ${fault.name}: ${problem}`));
    }
  }
  load.producing = false;
  await running.produced;
  await untilAllEnded((servers[0] as Partitioned).server);
  load.working = false;
  await running.worked;
  const finals = await dumpJobs((servers[0] as Partitioned).server.head);
  const { calls, surprises } = load.ledger;
  const late = calls.filter((call) => call.endedMs - call.invokedMs > ANSWERED_MS * slower);
  const slowestMs = Math.max(...calls.map((call) => call.endedMs - call.invokedMs));
  violations.push(
    ...check(calls, finals).map((found) => `${found.rule} ${found.subject}: ${found.detail}`),
    ...surprises,
    ...late.map(
      (call) =>
        `${call.op} by ${call.by} was answered after ${rounded(call.endedMs - call.invokedMs)} ms, ${beside(strikes, call)}`,
    ),
  );
  const counts = {
    faults: options.faults,
    jobs: finals.length,
    calls: calls.length,
    unknown: calls.filter((call) => call.outcome === 'unknown').length,
    slowestCallMs: rounded(slowestMs),
    slowestHealingMs: rounded(Math.max(...healedMs)),
    seed: options.seed,
  };
  return report({
    proof: 'partition',
    store: store.kind,
    summary:
      `${options.faults} faults between ${SERVERS} servers and their database, ${counts.jobs} jobs, ` +
      `${counts.calls} calls: slowest answer ${counts.slowestCallMs} ms, well again after ${counts.slowestHealingMs} ms at most`,
    counts,
    violations,
    startedMs,
  });
}

async function openServer(
  store: ProofStore,
  stack: AsyncDisposableStack,
  slower: number,
): Promise<Partitioned> {
  const proxy = stack.use(await startPostgresProxy(store.server.databaseUrl ?? ''));
  const server = stack.use(
    await startServer({
      databaseUrl: proxy.url,
      leaseMs: LEASE_MS,
      reaperIntervalMs: 200,
      logLevel: 'error',
    }),
  );
  // It answers calls before it has come up whole, and the proof is not about servers that start.
  while ((await server.anyone.get('/ready')).status !== 200) await sleep(20);
  const net = (next: Net): void => proxy.setNet(next);
  return { proxy, server, net, slower };
}

function newLoad(random: Random): Load {
  return {
    ledger: new Ledger(),
    random,
    leaseMs: LEASE_MS,
    acknowledged: new Set(),
    ended: new Set(),
    backlog: BACKLOG,
    patienceMs: PATIENCE_MS,
    producing: true,
    working: true,
  };
}

function startLoad(servers: readonly Partitioned[], load: Load) {
  const callers = servers.map(({ server }, index) => {
    const head = httpClient(server.url, { token: server.tokens.head });
    const left = httpClient(server.url, { token: server.tokens.left });
    const named = (what: string) => (_: unknown, i: number) => `server${index}-${what}${i}`;
    const producers = Array.from({ length: PRODUCERS }, named('producer'));
    const workers = Array.from({ length: WORKERS }, named('worker'));
    return {
      produced: Promise.all(producers.map((name) => produceGently(name, head, load))).finally(() =>
        head.close(),
      ),
      worked: Promise.all(workers.map((name) => work(name, left, load))).finally(() => left.close()),
    };
  });
  return {
    produced: Promise.all(callers.map(({ produced }) => produced)),
    worked: Promise.all(callers.map(({ worked }) => worked)),
  };
}

/** The proof is about faults, not about load. */
async function produceGently(name: string, head: ReturnType<typeof httpClient>, load: Load): Promise<void> {
  await sleep(load.random.int(100));
  await produce(name, head, load);
}
