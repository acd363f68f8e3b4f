import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { httpClient } from '../test/support/http.ts';
import { startServer, type TestServer } from '../test/support/server.ts';
import { check, isFinal } from './checker/check.ts';
import { dumpJobs } from './kill/dump.ts';
import { type Call, type FinalJob, saveHistory } from './checker/history.ts';
import { Ledger } from './kill/ledger.ts';
import { type Load, produce } from './kill/load.ts';
import { percentile, rounded } from './measure.ts';
import { type Random, seeded } from './random.ts';
import { type ProofReport, report } from './report.ts';
import type { ProofStore } from './stores.ts';
import { work } from './kill/worker.ts';

const PRODUCERS = 4;
const WORKERS = 8;
const LEASE_MS = 300;
const BACKLOG = 200;
const DRAIN_WITHIN_MS = 60_000;
const RESTART_LIMIT_MS = 1_000;
/** What a server may take to work again after its database does. */
const BACK_LIMIT_MS = 5_000;
/** Some kills hit the server while it is still recovering from the one before. */
const KILLED_AT_BOOT = 0.1;

/** What a server that is asked to stop may take to do so. */
const STOP_LIMIT_MS = 10_000;

export interface KillOptions {
  readonly kills: number;
  readonly seed: number;
  /** SIGKILL gives the server no chance; after SIGTERM it must leave in good order; or the database itself is killed. */
  readonly how?: How;
  /** A test shares the machine with others and allows more than the second that is promised. */
  readonly restartLimitMs?: number;
  /** The same for a stop. */
  readonly stopLimitMs?: number;
}

type How = 'SIGKILL' | 'SIGTERM' | 'database';

interface Stops {
  readonly restartsMs: number[];
  readonly stopsMs: number[];
  readonly violations: string[];
}

/** The name of the proof, and what it does so many times. */
const WORDS: Readonly<Record<How, readonly [string, string]>> = {
  SIGKILL: ['kill', 'kills'],
  SIGTERM: ['terminate', 'stops'],
  database: ['kill-database', 'kills of PostgreSQL'],
};

/** Ends the server, or the database below it, under load again and again; afterwards nothing acknowledged may be missing, doubled or wrong. */
export async function proveKill(store: ProofStore, options: KillOptions): Promise<ProofReport> {
  const {
    kills,
    seed,
    how = 'SIGKILL',
    restartLimitMs = how === 'database' ? BACK_LIMIT_MS : RESTART_LIMIT_MS,
    stopLimitMs = STOP_LIMIT_MS,
  } = options;
  const startedMs = performance.now();
  const random = seeded(seed);
  await using server = await startServer({ ...store.server, leaseMs: LEASE_MS, reaperIntervalMs: 100 });
  const load = newLoad(random);
  const running = startLoad(server, load);
  const {
    restartsMs,
    stopsMs,
    violations: badStops,
  } = await (how === 'database'
    ? crashAgainAndAgain(server, store, kills, random)
    : stopAgainAndAgain(server, kills, how, random));

  load.producing = false;
  await running.produced;
  await untilAllEnded(server);
  load.working = false;
  await running.worked;
  const finals = await dumpJobs(server.head);
  const { calls, surprises } = load.ledger;
  const violations = [
    ...check(calls, finals).map((found) => `${found.rule} ${found.subject}: ${found.detail}`),
    ...surprises,
    ...badStops,
    ...(how === 'SIGTERM' ? stopsMs : [])
      .filter((ms) => ms > stopLimitMs)
      .map((ms) => `a stop took ${rounded(ms)} ms`),
    ...restartsMs.filter((ms) => ms >= restartLimitMs).map((ms) => `a restart took ${rounded(ms)} ms`),
  ];
  if (violations.length > 0) keepEvidence(store.kind, seed, calls, finals);
  const counts: Record<string, number> = {
    ...countAll(kills, calls, finals, restartsMs),
    ...(how === 'SIGTERM' && { stopMaxMs: rounded(Math.max(...stopsMs)) }),
  };
  const [name, verb] = WORDS[how];
  return report({
    proof: name,
    store: store.kind,
    summary:
      `${kills} ${verb}, ${counts['acknowledged']} jobs acknowledged, ${counts['refused']} calls refused, ` +
      (how === 'SIGTERM'
        ? `stop p50 ${rounded(percentile(stopsMs, 0.5))} ms, max ${rounded(Math.max(...stopsMs))} ms, `
        : '') +
      `restart p50 ${counts['restartP50Ms']} ms, p99 ${counts['restartP99Ms']} ms, max ${counts['restartMaxMs']} ms`,
    counts: { ...counts, seed },
    violations,
    startedMs,
  });
}

function newLoad(random: Random): Load {
  return {
    ledger: new Ledger(),
    random,
    leaseMs: LEASE_MS,
    acknowledged: new Set(),
    ended: new Set(),
    backlog: BACKLOG,
    patienceMs: 5_000,
    producing: true,
    working: true,
  };
}

interface Running {
  readonly produced: Promise<unknown>;
  readonly worked: Promise<unknown>;
}

function startLoad(server: TestServer, load: Load): Running {
  const clients = Array.from({ length: WORKERS }, (_, index) =>
    httpClient(server.url, { token: index % 2 === 0 ? server.tokens.left : server.tokens.right }),
  );
  const head = httpClient(server.url, { token: server.tokens.head });
  const producers = Array.from({ length: PRODUCERS }, (_, index) => produce(`producer${index}`, head, load));
  const workers = clients.map((client, index) => work(`worker${index}`, client, load));
  return {
    produced: Promise.all(producers).finally(() => head.close()),
    worked: Promise.all(workers).finally(() => clients.forEach((client) => client.close())),
  };
}

async function stopAgainAndAgain(
  server: TestServer,
  kills: number,
  signal: 'SIGKILL' | 'SIGTERM',
  random: Random,
): Promise<Stops> {
  const stops: Stops = { restartsMs: [], stopsMs: [], violations: [] };
  for (let done = 0; done < kills; done++) {
    await sleep(50 + random.int(600));
    const askedMs = performance.now();
    await server.kill(signal);
    stops.stopsMs.push(performance.now() - askedMs);
    if (signal === 'SIGTERM') stops.violations.push(...stopProblems(server));
    if (random.chance(KILLED_AT_BOOT) && done + 1 < kills) {
      const booting = server.restart().catch(() => undefined);
      await sleep(random.int(150));
      await server.kill('SIGKILL');
      await booting;
      done++;
    }
    stops.restartsMs.push(await server.restart());
  }
  return stops;
}

/** The server is left alone: it has to find the database again by itself, within the time that is promised. */
async function crashAgainAndAgain(
  server: TestServer,
  { crash }: ProofStore,
  kills: number,
  random: Random,
): Promise<Stops> {
  if (crash === null) throw new Error('this database is not ours to kill');
  const stops: Stops = { restartsMs: [], stopsMs: [], violations: [] };
  for (let done = 0; done < kills; done++) {
    await sleep(200 + random.int(800));
    await crash();
    const upMs = performance.now();
    while ((await server.anyone.get('/ready')).status !== 200) await sleep(20);
    stops.restartsMs.push(performance.now() - upMs);
  }
  return stops;
}

function stopProblems(server: TestServer): string[] {
  const problems: string[] = [];
  if (server.exitCode !== 0) problems.push(`a stopped server ended with exit code ${server.exitCode}`);
  return problems;
}

/**
 * That none is queued and none is running are two questions, and between them a job may move from one to the other.
 * Only what has ended stays so: when both answers are no, each job is asked.
 */
export async function untilAllEnded(server: TestServer): Promise<void> {
  const deadlineMs = performance.now() + DRAIN_WITHIN_MS;
  while (performance.now() < deadlineMs) {
    if ((await noneIn(server, 'queued', 'running')) && (await dumpJobs(server.head)).every(isFinal)) return;
    await sleep(100);
  }
}

async function noneIn(server: TestServer, ...states: readonly string[]): Promise<boolean> {
  const answers = await Promise.all(
    states.map((state) => server.head.get<{ jobs: unknown[] }>(`/jobs?status=${state}&limit=1`)),
  );
  return answers.every((answer) => answer.status === 200 && answer.body.jobs.length === 0);
}

function keepEvidence(
  store: string,
  seed: number,
  calls: readonly Call[],
  finals: readonly FinalJob[],
): void {
  const file = path.join(tmpdir(), `spine-kill-${store}-${seed}.jsonl`);
  saveHistory(file, calls, finals);
  process.stderr.write(`the history is in ${file}\n`);
}

function countAll(
  kills: number,
  calls: readonly Call[],
  finals: readonly FinalJob[],
  restartsMs: readonly number[],
): Record<string, number> {
  const ok = calls.filter((call) => call.outcome === 'ok');
  return {
    kills,
    jobs: finals.length,
    acknowledged: new Set(ok.filter((call) => call.op === 'enqueue').map((call) => call.jobId)).size,
    claims: ok.filter((call) => call.op === 'claim' && call.jobId !== undefined).length,
    refused: calls.filter((call) => call.outcome === 'refused').length,
    unanswered: calls.filter((call) => call.outcome === 'unknown').length,
    dead: finals.filter((job) => job.state === 'dead').length,
    restartP50Ms: rounded(percentile(restartsMs, 0.5)),
    restartP99Ms: rounded(percentile(restartsMs, 0.99)),
    restartMaxMs: rounded(Math.max(...restartsMs)),
  };
}
