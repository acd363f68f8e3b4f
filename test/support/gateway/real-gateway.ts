/** A real OpenClaw gateway in a throw-away home, with a model that the prompt steers. Needs `npm run test:gateway`. */

import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openclawScript } from './openclaw.ts';
import { type ModelRequest, startStubModel } from './stub-model.ts';

/** A start takes 15 to 40 s on two cores. */
const START_LIMIT_MS = 180_000;
const STOP_LIMIT_MS = 20_000;

export interface RealGateway {
  readonly url: string;
  readonly token: string;
  readonly hookToken: string;
  /** A command that is `openclaw` for this gateway. */
  readonly cli: string;
  readonly pid: number;
  /** What the model was asked so far. */
  modelRequests(): readonly ModelRequest[];
  /** Ends the gateway as a crash does. */
  kill9(): Promise<void>;
  /** Starts it again, with everything it has written down. Answers when it is ready. */
  restart(): Promise<void>;
  /** Asks it to stop; it takes nothing new and ends when its turns have ended. */
  drain(): void;
  /** Resolves when the process is gone. */
  gone(): Promise<void>;
  stop(): Promise<void>;
}

export async function startRealGateway(): Promise<RealGateway> {
  const home = await mkdtemp(join(tmpdir(), 'spine-openclaw-home-'));
  const model = await startStubModel();
  const port = await freePort();
  const token = randomBytes(24).toString('hex');
  const hookToken = randomBytes(24).toString('hex');
  const env = environment(home);
  await writeConfig(home, { port, token, hookToken, modelUrl: model.url });
  const cli = await writeCommand(home, env);
  const url = `http://127.0.0.1:${port}`;
  let child = await start(home, env);
  const forgetUs = endWithUs(() => {
    child.kill('SIGKILL');
    rmSync(home, { recursive: true, force: true });
  });
  const cleanUp = async (): Promise<void> => {
    forgetUs();
    await end(child);
    await model.stop();
    await rm(home, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    await ready(url, child, home);
  } catch (error) {
    await cleanUp();
    throw error;
  }
  return {
    url,
    token,
    hookToken,
    cli,
    get pid() {
      return child.pid ?? 0;
    },
    modelRequests: () => model.requests,
    kill9: async () => {
      child.kill('SIGKILL');
      await exited(child);
    },
    restart: async () => {
      await end(child);
      child = await start(home, env);
      await ready(url, child, home);
    },
    drain: () => void child.kill('SIGTERM'),
    gone: () => exited(child),
    stop: cleanUp,
  };
}

/** A run that is broken off must leave no gateway behind. */
function endWithUs(task: () => void): () => void {
  const leave = (): void => process.exit(1);
  process.on('exit', task);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, leave);
  return () => {
    process.off('exit', task);
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.off(signal, leave);
  };
}

/** Nothing of the machine's own OpenClaw, and nothing that leaves loopback. */
function environment(home: string): NodeJS.ProcessEnv {
  return {
    PATH: process.env['PATH'],
    HOME: home,
    TMPDIR: home,
    OPENCLAW_STATE_DIR: join(home, '.openclaw'),
    OPENCLAW_CONFIG_PATH: join(home, '.openclaw/openclaw.json'),
    OPENCLAW_NO_AUTO_UPDATE: '1',
    OPENCLAW_NO_RESPAWN: '1',
    OPENCLAW_DISABLE_BONJOUR: '1',
    OPENCLAW_SKIP_CHANNELS: '1',
    DO_NOT_TRACK: '1',
    NO_COLOR: '1',
  };
}

interface Wiring {
  readonly port: number;
  readonly token: string;
  readonly hookToken: string;
  readonly modelUrl: string;
}

async function writeConfig(home: string, { port, token, hookToken, modelUrl }: Wiring): Promise<void> {
  const workspace = join(home, 'workspace');
  await mkdir(workspace);
  await mkdir(join(home, '.openclaw'));
  const models = ['echo', 'other'].map((id) => ({
    id,
    name: id,
    reasoning: false,
    input: ['text'],
    cost: { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 },
    contextWindow: 500_000,
    maxTokens: 100_000,
  }));
  const config = {
    gateway: {
      mode: 'local',
      port,
      bind: 'loopback',
      auth: { mode: 'token', token },
      http: { endpoints: { chatCompletions: { enabled: true } } },
      terminal: { enabled: false },
    },
    models: {
      mode: 'replace',
      catalogRefresh: { enabled: false },
      providers: { stub: { baseUrl: modelUrl, apiKey: 'none', api: 'openai-completions', models } },
    },
    agents: {
      defaults: {
        model: { primary: 'stub/echo' },
        workspace,
        skipBootstrap: true,
        heartbeat: { every: '0m' },
      },
    },
    hooks: { enabled: true, token: hookToken, path: '/hooks', allowedAgentIds: ['main'] },
    discovery: { mdns: { mode: 'off' } },
    update: { checkOnStart: false },
    logging: { file: join(home, 'openclaw.log') },
  };
  await writeFile(join(home, '.openclaw/openclaw.json'), JSON.stringify(config, undefined, 2), {
    mode: 0o600,
  });
}

async function writeCommand(home: string, env: NodeJS.ProcessEnv): Promise<string> {
  const cli = join(home, 'openclaw');
  const settings = Object.entries(env).map(([name, value]) => `export ${name}='${value ?? ''}'`);
  const run = `exec '${process.execPath}' '${openclawScript()}' "$@"`;
  await writeFile(cli, ['#!/bin/sh', ...settings, run, ''].join('\n'));
  await chmod(cli, 0o755);
  return cli;
}

async function start(home: string, env: NodeJS.ProcessEnv): Promise<ChildProcess> {
  const log = await open(logOf(home), 'a');
  try {
    return spawn(process.execPath, [openclawScript(), 'gateway', 'run'], {
      cwd: join(home, 'workspace'),
      env,
      stdio: ['ignore', log.fd, log.fd],
    });
  } finally {
    await log.close();
  }
}

async function ready(url: string, child: ChildProcess, home: string): Promise<void> {
  const until = Date.now() + START_LIMIT_MS;
  while (Date.now() < until) {
    if (hasEnded(child)) break;
    const answer = await fetch(`${url}/readyz`).catch(() => null);
    await answer?.body?.cancel();
    if (answer?.ok === true) return;
    await sleep(200);
  }
  const log = await readFile(logOf(home), 'utf8');
  throw new Error(`the gateway is not ready; its log ends with:\n${log.slice(-3000)}`);
}

async function end(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  child.kill('SIGTERM');
  const overdue = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS);
  await exited(child);
  clearTimeout(overdue);
}

async function exited(child: ChildProcess): Promise<void> {
  if (!hasEnded(child)) await once(child, 'exit');
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

function logOf(home: string): string {
  return join(home, 'gateway.log');
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
