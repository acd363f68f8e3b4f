/** Workers as processes of their own, for tests that signal and kill them. */

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type TestServer, WITHOUT_FILES } from './server.ts';

const ENTRY = fileURLToPath(new URL('../../bin/spine.cjs', import.meta.url));
/** Less than a test may take, so that what was waited for is named. */
const WAIT_MS = 45_000;

/** The text's constants, all about a hundred times shorter. */
const SHORT: Readonly<Record<string, string>> = {
  SPINE_WORKER_IDLE_BEAT_MS: '300',
  SPINE_WORKER_BEAT_MS: '150',
  SPINE_WORKER_POLL_MS: '300',
  SPINE_WORKER_DRAIN_MS: '20000',
  SPINE_SESSION_POLL_MS: '50',
};

export const SHORT_SERVER: Readonly<Record<string, string>> = {
  ...WITHOUT_FILES,
  SPINE_BRIDGE_AUTH: 'loopback',
  SPINE_WORKER_STALE_MS: '2500',
  SPINE_WATCHDOG_MS: '300',
};

/** For whatever is not about silence: a machine that hangs for a while makes no worker look dead. */
export const PATIENT_SERVER: Readonly<Record<string, string>> = {
  ...SHORT_SERVER,
  SPINE_WORKER_STALE_MS: '30000',
};

export interface Task {
  readonly id: string;
  readonly title: string;
  readonly status: string;
  readonly attempts: number;
  readonly updatedAt: number;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly metadata: Readonly<Record<string, unknown>>;
}

export interface Heartbeat {
  readonly slot: string;
  readonly status: string;
  readonly task: string | null;
  readonly taskTitle: string | null;
  readonly sessionId: string | null;
  readonly lastUpdate: number;
  readonly startedAt: number;
  readonly metadata: Readonly<Record<string, unknown>>;
}

export interface WorkerProcess {
  readonly pid: number;
  readonly folder: string;
  /** How it ended: a code, or the signal. */
  readonly ended: Promise<number | NodeJS.Signals | null>;
  output(): string;
  kill(signal: NodeJS.Signals): void;
}

export interface WorkerOptions {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly url?: string;
  readonly token?: string;
  /** Where it is started; in a folder of its own unless said. */
  readonly cwd?: string;
  /** Puts something into its folder before it starts. */
  readonly prepare?: (folder: string) => void;
}

/** A worker of the slot; it is gone with the test at the latest. */
export function startWorker(
  t: Pick<TestContext, 'after'>,
  server: Pick<TestServer, 'url' | 'tokens'>,
  slot: string | null,
  options: WorkerOptions = {},
): WorkerProcess {
  const folder = mkdtempSync(join(tmpdir(), 'spine-worker-'));
  options.prepare?.(folder);
  const { PATH, HOME, TMPDIR } = process.env;
  const env = {
    PATH,
    HOME,
    TMPDIR,
    SPINE_URL: options.url ?? server.url,
    SPINE_TOKEN: options.token ?? server.tokens.head,
    ...SHORT,
    ...options.env,
  };
  const words = [ENTRY, 'worker', ...(slot === null ? [] : [slot]), ...(options.args ?? [])];
  const child = spawn(process.execPath, words, {
    cwd: options.cwd ?? folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output = (output + text).slice(-64_000)));
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) =>
    child.once('exit', (code, signal) => resolve(code ?? signal)),
  );
  t.after(async () => {
    end(child);
    await ended;
    rmSync(folder, { recursive: true, force: true });
  });
  return { pid: child.pid ?? 0, folder, ended, output: () => output, kill: (signal) => child.kill(signal) };
}

function end(child: ChildProcess): void {
  child.kill('SIGKILL');
  // One that is stopped dies as well, once it may run.
  child.kill('SIGCONT');
}

/** A session that is a program of the shell. */
export function shellSession(script: string): readonly string[] {
  return ['--command', JSON.stringify(['/bin/sh', '-c', script])];
}

export async function until<T>(
  what: string,
  look: () => Promise<T | null | undefined | false> | T | null | undefined | false,
): Promise<T> {
  for (const endsAt = performance.now() + WAIT_MS; performance.now() < endsAt; await sleep(20)) {
    const found = await look();
    if (found !== null && found !== undefined && found !== false) return found;
  }
  throw new Error(`waited in vain: ${what}`);
}

export async function makeTask(server: TestServer, task: object): Promise<Task> {
  const { status, body } = await server.anyone.post<Task>('/api/tasks', task);
  if (status !== 200) throw new Error(JSON.stringify(body));
  return body;
}

export async function taskOf(server: TestServer, id: string): Promise<Task> {
  return (await server.anyone.get<Task>(`/api/tasks/${id}`)).body;
}

export function untilTask(server: TestServer, id: string, status: string): Promise<Task> {
  return until(`task ${status}`, async () => {
    const task = await taskOf(server, id);
    return task.status === status ? task : null;
  });
}

export async function heartbeatOf(server: TestServer, slot: string): Promise<Heartbeat | null> {
  const { body } = await server.anyone.get<{ workers: Record<string, Heartbeat> }>('/api/heartbeats');
  return body.workers[slot] ?? null;
}

export function untilBeat(server: TestServer, slot: string, status: string): Promise<Heartbeat> {
  return until(`${slot} ${status}`, async () => {
    const beat = await heartbeatOf(server, slot);
    return beat?.status === status ? beat : null;
  });
}

/** Processes whose environment names this session, zombies aside. */
export function processesOf(sessionId: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => environmentOf(pid).includes(`SPINE_SESSION_ID=${sessionId}`));
}

function environmentOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  } catch {
    return [];
  }
}

export function untilGone(sessionId: string): Promise<true> {
  return until(`the processes of ${sessionId} are gone`, () => processesOf(sessionId).length === 0);
}

export function linesOf(file: string): string[] {
  return existsSync(file)
    ? readFileSync(file, 'utf8')
        .trimEnd()
        .split('\n')
        .filter((line) => line !== '')
    : [];
}
