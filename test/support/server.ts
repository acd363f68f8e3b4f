import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type HttpClient, httpClient } from './http.ts';

const ENTRY = fileURLToPath(new URL('../../bin/spine.cjs', import.meta.url));
const READY_WITHIN_MS = 90_000;
const STOP_WITHIN_MS = 30_000;
const KEPT_OUTPUT_CHARS = 64_000;

/** For tests that read none of the files of jobs: the thread that writes them takes a third of a start's processor time. */
export const WITHOUT_FILES = { SPINE_FILES: 'off' } as const;

export interface ServerOptions {
  /** PostgreSQL instead of SQLite. */
  readonly databaseUrl?: string;
  /** A data directory the caller owns; by default a temporary one, removed by stop(). */
  readonly dataDir?: string;
  readonly leaseMs?: number;
  readonly reaperIntervalMs?: number;
  readonly logLevel?: string;
  /** Another Node than the one that runs the tests. */
  readonly node?: string;
  /** What to start instead of the command of these sources. */
  readonly entry?: string;
  /** Further settings, by their environment names. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface Tokens {
  readonly head: string;
  readonly left: string;
  readonly right: string;
}

export interface TestServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly dataDir: string;
  readonly tokens: Tokens;
  /** Of the process that runs now; changes with restart(). */
  readonly pid: number;
  readonly running: boolean;
  /** How the last process ended; null while it runs or after a signal ended it. */
  readonly exitCode: number | null;
  /** Clients that speak as head, left claw, right claw and without a token. */
  readonly head: HttpClient;
  readonly left: HttpClient;
  readonly right: HttpClient;
  readonly anyone: HttpClient;
  /** What the process wrote, of both streams, the last 64,000 characters. */
  output(): string;
  /** Sends the signal and resolves when the process is gone. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Starts again on the same port and data, after a kill -9 when still running; gives the milliseconds to the first 200. */
  restart(): Promise<number>;
  /** SIGTERM, then removes what startServer made. */
  stop(): Promise<void>;
}

/** Starts Spine as a process of its own and resolves when /health answers 200. */
export async function startServer(options: ServerOptions = {}): Promise<TestServer> {
  for (;;) {
    try {
      return await startOn(await freePort(), options);
    } catch (problem) {
      // Between the look for a free port and the start another process may take it.
      const isTaken =
        problem instanceof Error && problem.message.includes(' is in use. Stop the other program');
      if (!isTaken || options.env?.['SPINE_PORT'] !== undefined) throw problem;
    }
  }
}

async function startOn(port: number, options: ServerOptions): Promise<TestServer> {
  const ownDir = options.dataDir === undefined ? mkdtempSync(path.join(tmpdir(), 'spine-')) : undefined;
  const dataDir = options.dataDir ?? ownDir ?? '';
  const url = `http://127.0.0.1:${port}`;
  const tokens: Tokens = { head: newToken('head'), left: newToken('left'), right: newToken('right') };
  const env = environment(options, dataDir, port, tokens);
  const clients = {
    head: httpClient(url, { token: tokens.head }),
    left: httpClient(url, { token: tokens.left }),
    right: httpClient(url, { token: tokens.right }),
    anyone: httpClient(url),
  };
  let current = launch(env, options);

  async function stop(): Promise<void> {
    await end(current, 'SIGTERM');
    for (const client of Object.values(clients)) client.close();
    if (ownDir !== undefined) rmSync(ownDir, { recursive: true, force: true });
  }

  async function restart(): Promise<number> {
    await end(current, 'SIGKILL');
    current = launch(env, options);
    return untilHealthy(current, url);
  }

  try {
    await untilHealthy(current, url);
  } catch (problem) {
    await stop();
    throw problem;
  }
  return {
    ...clients,
    url,
    port,
    dataDir,
    tokens,
    get pid() {
      return current.process.pid ?? 0;
    },
    get running() {
      return isRunning(current);
    },
    get exitCode() {
      return current.process.exitCode;
    },
    output: () => current.output,
    kill: (signal = 'SIGKILL') => end(current, signal),
    restart,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

interface Launched {
  readonly process: ChildProcess;
  readonly startedMs: number;
  output: string;
  ready: boolean;
  /** True once the end of the process is our own doing. */
  ending: boolean;
}

const running = new Set<ChildProcess>();

/** A test that dies must not leave servers behind; only processes launched here are ended. */
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

function launch(env: NodeJS.ProcessEnv, options: ServerOptions): Launched {
  const { node = process.execPath, entry = ENTRY } = options;
  const child = spawn(node, [entry, 'serve'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const launched: Launched = {
    process: child,
    startedMs: performance.now(),
    output: '',
    ready: false,
    ending: false,
  };
  const collect = (chunk: string): void => {
    launched.output = (launched.output + chunk).slice(-KEPT_OUTPUT_CHARS);
  };
  child.stdout.setEncoding('utf8').on('data', collect);
  child.stderr.setEncoding('utf8').on('data', collect);
  running.add(child);
  child.once('close', () => {
    running.delete(child);
    // Before it is ready, whoever waits for it is told.
    if (launched.ready && !launched.ending)
      process.stderr.write(`${whatHappened(launched, 'ended by itself')}\n`);
  });
  return launched;
}

function isRunning(launched: Launched): boolean {
  return launched.process.exitCode === null && launched.process.signalCode === null;
}

function whatHappened(launched: Launched, what: string): string {
  const { pid, exitCode, signalCode } = launched.process;
  return `spine ${pid} ${what} (exit code ${exitCode}, signal ${signalCode}); it wrote:\n${launched.output.slice(-8_000)}`;
}

async function end(launched: Launched, signal: NodeJS.Signals): Promise<void> {
  if (!isRunning(launched)) return;
  launched.ending = true;
  const gone = new Promise<void>((resolve) => launched.process.once('exit', () => resolve()));
  launched.process.kill(signal);
  const tooLong = setTimeout(() => {
    process.stderr.write(
      `${whatHappened(launched, `did not end within ${STOP_WITHIN_MS} ms of ${signal}`)}\n`,
    );
    launched.process.kill('SIGKILL');
  }, STOP_WITHIN_MS);
  await gone;
  clearTimeout(tooLong);
}

async function untilHealthy(launched: Launched, url: string): Promise<number> {
  const probe = httpClient(url, { timeoutMs: 1_000 });
  try {
    while (isRunning(launched) && performance.now() - launched.startedMs < READY_WITHIN_MS) {
      const status = await probe.get('/health').then(
        (answer) => answer.status,
        () => 0,
      );
      if (status === 200) {
        launched.ready = true;
        return performance.now() - launched.startedMs;
      }
      await sleep(5);
    }
  } finally {
    probe.close();
  }
  const ended = !isRunning(launched);
  launched.ending = true;
  await end(launched, 'SIGKILL');
  // A moment for the pipes, so that the last words are read too.
  await sleep(20);
  throw new Error(whatHappened(launched, ended ? 'ended before it was ready' : 'was not ready in time'));
}

/** Nothing of the caller's own settings leaks in: only what a process needs to run at all. */
function environment(
  options: ServerOptions,
  dataDir: string,
  port: number,
  tokens: Tokens,
): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR } = process.env;
  return {
    PATH,
    HOME,
    TMPDIR,
    SPINE_PORT: String(port),
    SPINE_DATA_DIR: dataDir,
    SPINE_LOG_LEVEL: options.logLevel ?? 'warn',
    // A gateway of the machine's own has no part in a test.
    SPINE_GATEWAY: 'off',
    HEAD_TOKEN: tokens.head,
    LEFT_CLAW_TOKEN: tokens.left,
    RIGHT_CLAW_TOKEN: tokens.right,
    ...(options.databaseUrl === undefined ? {} : { DATABASE_URL: options.databaseUrl }),
    ...(options.leaseMs === undefined ? {} : { SPINE_LEASE_MS: String(options.leaseMs) }),
    ...(options.reaperIntervalMs === undefined
      ? {}
      : { REAPER_INTERVAL_MS: String(options.reaperIntervalMs) }),
    ...options.env,
  };
}

function newToken(role: string): string {
  return `${role}-${randomBytes(18).toString('base64url')}`;
}

/** Below the range that outgoing connections use: while a killed server is away, one of them could take its port. */
const FIRST_PORT = 15_000;
const LAST_PORT = 32_000;
/** Each process of tests looks in a piece of its own, and takes none twice: a server that was killed comes back to its port. */
const PIECE = 250;
const piece = FIRST_PORT + PIECE * (process.pid % ((LAST_PORT - FIRST_PORT) / PIECE));
let looked = randomInt(PIECE);

export async function freePort(): Promise<number> {
  for (;;) {
    const port = piece + (looked++ % PIECE);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}
