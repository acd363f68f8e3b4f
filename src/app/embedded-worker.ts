/** The workers inside the server: one for each gateway, and one for shell commands where they are allowed. */

import type { Config } from '../config.ts';
import type { Actor, GatewaySlots } from '../domain/command.ts';
import type { Clock } from '../domain/ports.ts';
import type { OpenEngine } from '../engine/open-engine.ts';
import { SESSION_TARGET } from '../engine/sessions.ts';
import { type Gateway, type GatewayOptions, openGateway } from '../gateway/gateway.ts';
import { ADOPTER, Adopter } from '../loops/adopter.ts';
import { environmentBut, inheritedEnvironment } from '../runtime/environment.ts';
import { EmbeddedWorker, type EmbeddedStatus, LEASE_MS } from '../worker/embedded.ts';
import { GatewayRunner } from '../worker/gateway-runner.ts';
import type { CancelRequests, Commands } from '../worker/ports.ts';
import { GatewaySessionRunner } from '../worker/sessions/gateway-session.ts';
import { ShellRunner } from '../worker/shell-runner.ts';
import { SpawnedSessions } from '../worker/spawned-sessions.ts';
import { embeddedClient } from './embedded-client.ts';
import { embeddedNotes } from './embedded-notes.ts';
import type { WorkerLog } from '../worker/ports.ts';
import { OWN_SETTINGS } from './own-settings.ts';
import { sessionRunnerOf } from './session-runner.ts';
import { openRunner } from './session-runners.ts';
import { ShellCommands } from './shell-commands.ts';

export interface EmbeddedWorkersOptions {
  readonly engine: OpenEngine;
  readonly config: Pick<
    Config,
    | 'gateway'
    | 'gatewayUrl'
    | 'gatewayToken'
    | 'gatewayHookToken'
    | 'gateways'
    | 'gatewayConcurrency'
    | 'agentUrl'
    | 'openclawCli'
    | 'shell'
    | 'shellConcurrency'
    | 'staleThresholdS'
    | 'heartbeatCheckMs'
    | 'tickMs'
    | 'stated'
    | 'sessionRunner'
    | 'sessionCommand'
    | 'sessionRoots'
    | 'sessionEnv'
    | 'sessionPollMs'
    | 'sessionTimeoutMs'
    | 'sessionTimeoutMaxMs'
    | 'sessionConcurrency'
  >;
  readonly clock: Clock;
  readonly log: WorkerLog;
  /** Where commands reach this server. */
  readonly url: string;
  /** Opens the gateways of the settings; tests bring their own. */
  readonly open?: (options: GatewayOptions) => Gateway;
}

export interface EmbeddedWorkers {
  /** Takes nothing new, lets what runs come to an end within the time, and leaves behind what goes on by itself. */
  stop(drainMs: number): Promise<void>;
  status(): EmbeddedStatus[];
  /** Ends the turn of a worker's session at the main gateway; null where this server has none. */
  readonly endTurn: ((sessionKey: string) => Promise<void>) | null;
}

export async function startEmbeddedWorkers(options: EmbeddedWorkersOptions): Promise<EmbeddedWorkers> {
  const gateways = options.config.gateway === 'off' ? [] : openGateways(options);
  const [main] = gateways;
  const commands = new ShellCommands(options.clock);
  const sessions = sessionWorker(options);
  const workers = [
    ...gateways.map((gateway) => gatewayWorker(options, gateway)),
    ...(options.config.shell === 'on' ? [shellWorker(options, commands)] : []),
    ...(sessions ? [sessions.worker] : []),
  ];
  await takeOverOrphans(options.engine);
  for (const worker of workers) worker.start();
  return {
    stop: async (drainMs) => {
      sessions?.leave();
      await Promise.all(workers.map((worker) => worker.stop(drainMs)));
      await Promise.all(gateways.map((gateway) => gateway.close()));
      await commands.stop();
      await sessions?.close();
    },
    status: () => workers.map((worker) => worker.status()),
    endTurn:
      main === undefined
        ? null
        : (sessionKey) => new GatewaySessionRunner(main, () => options.clock.now()).endLeftover(sessionKey),
  };
}

/** One server has a data folder to itself: whoever held a job before this start is gone. Others look who is. */
async function takeOverOrphans({ core }: OpenEngine): Promise<void> {
  if (core.store.dialect === 'postgres') return void (await new Adopter(core).runOnce());
  const runs = await core.store.read.leases.adoptable();
  await Promise.all(
    runs.map(({ id, leaseToken }) =>
      core.perform({ kind: 'expire', id, leaseToken, actor: ADOPTER, orphaned: true }),
    ),
  );
}

function openGateways({ config, clock, open = openGateway }: EmbeddedWorkersOptions): Gateway[] {
  const main = {
    name: 'main',
    url: config.gatewayUrl,
    token: config.gatewayToken,
    hookToken: config.gatewayHookToken,
  };
  const cliEnv = environmentBut(OWN_SETTINGS);
  return [main, ...(config.gateways ?? [])].map((place) =>
    open({ ...place, cli: config.openclawCli, cliEnv, clock }),
  );
}

const GATEWAY_WORKER: Actor = { name: 'gateway-worker', role: 'worker', targets: null, builtIn: true };
const SESSION_WORKER: Actor = { name: 'session-worker', role: 'worker', targets: null, builtIn: true };
const SHELL_WORKER: Actor = { name: 'shell-worker', role: 'worker', targets: null, builtIn: true };

function gatewayWorker(options: EmbeddedWorkersOptions, gateway: Gateway): EmbeddedWorker {
  const { engine, config, clock, log } = options;
  const target = `gateway:${gateway.name}`;
  const client = embeddedClient(engine, clock, GATEWAY_WORKER, gatewaySlotsOf(options, target));
  const runner = new GatewayRunner({
    gateway,
    platform: client.platform,
    notes: embeddedNotes(engine, GATEWAY_WORKER, agentUrl(options)),
    log,
    staleThresholdMs: config.staleThresholdS * 1_000,
    checkMs: config.heartbeatCheckMs,
    onTrouble: () => worker.lookAtGateway(),
  });
  const worker = new EmbeddedWorker({
    target,
    client,
    runner,
    concurrency: config.gatewayConcurrency,
    gateway,
    gatewayExpected: gateway.name !== 'main' || config.stated.gatewayUrl.origin !== 'default',
    cancelRequests: cancelRequests(engine),
    log,
    tickMs: config.tickMs,
  });
  return worker;
}

/** A server that listens on every address is reached by that of this machine. */
function agentUrl({ config, url }: EmbeddedWorkersOptions): string {
  const own = url.replace(/\/\/(?:0\.0\.0\.0|\[::\])/, '//127.0.0.1');
  return (config.agentUrl ?? own).replace(/\/+$/, '');
}

/** Several servers send turns to the same gateway: what it takes at once, it takes from all of them. */
function gatewaySlotsOf({ engine, config }: EmbeddedWorkersOptions, target: string): GatewaySlots | null {
  if (engine.core.store.dialect === 'sqlite') return null;
  return { target, count: config.gatewayConcurrency };
}

function shellWorker(
  { engine, config, clock, log, url }: EmbeddedWorkersOptions,
  commands: Commands,
): EmbeddedWorker {
  const client = embeddedClient(engine, clock, SHELL_WORKER);
  const notes = embeddedNotes(engine, SHELL_WORKER, url);
  const inherited = inheritedEnvironment();
  return new EmbeddedWorker({
    target: 'shell',
    client,
    runner: new ShellRunner({ platform: client.platform, commands, notes, log, inherited, url }),
    concurrency: config.shellConcurrency,
    gateway: null,
    gatewayExpected: false,
    cancelRequests: cancelRequests(engine),
    log,
    tickMs: config.tickMs,
  });
}

/** Sessions that others ask this server for; null where it runs none. */
function sessionWorker({ engine, config, clock, log, url }: EmbeddedWorkersOptions) {
  const name = sessionRunnerOf(config);
  if (name === 'off') return null;
  const client = embeddedClient(engine, clock, SESSION_WORKER, null, 'own');
  const { platform } = client;
  const { sessionCommand: command, sessionRoots: roots, sessionEnv: env } = config;
  const order = { runner: name, command, roots, env, sessions: null };
  const { runner, close } = openRunner(order, { platform, clock, config });
  const { sessionTimeoutMs: timeoutMs, sessionTimeoutMaxMs: timeoutMaxMs } = config;
  const terms = { url, defaultDir: roots[0] ?? null, timeoutMs, timeoutMaxMs, leaseMs: LEASE_MS };
  const over = new AbortController();
  const worker = new EmbeddedWorker({
    target: SESSION_TARGET,
    client,
    runner: new SpawnedSessions({ platform, runner, terms, over: over.signal, log }),
    concurrency: config.sessionConcurrency,
    gateway: null,
    gatewayExpected: false,
    cancelRequests: cancelRequests(engine),
    log,
    tickMs: config.tickMs,
  });
  return { worker, close, leave: () => over.abort(new Error('The server stops.')) };
}

function cancelRequests(engine: OpenEngine): CancelRequests {
  return (jobs) => engine.runs.cancelRequested(jobs.map(({ no }) => no));
}
