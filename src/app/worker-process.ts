/** `spine worker <slot>` as a process: settings, signals, log, and the link to the file of heartbeats. */

import { lstatSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { Caller } from '../client/caller.ts';
import { SpineApiError } from '../client/errors.ts';
import { sleep, systemPlatform } from '../client/platform.ts';
import { nodePlatform } from '../client/platform-node.ts';
import type { WorkerOrder } from '../cli/host.ts';
import type { Config } from '../config.ts';
import { systemClock, systemTime } from '../runtime/clock.ts';
import { pollWaitMs } from '../worker/service/backoff.ts';
import type { StartedSlot } from '../worker/service/bridge-calls.ts';
import { thisProcess } from '../worker/service/predecessor.ts';
import { WorkerService } from '../worker/service/worker-service.ts';
import type { Log } from './log.ts';
import { processLog } from './process-log.ts';
import { sessionRunnerOf } from './session-runner.ts';
import { openRunner, type RunnerName } from './session-runners.ts';
import { type WorkerToken, workerToken } from './worker-token.ts';

const CALL_MS = 30_000;
const RETRIES = 2;

/** Resolves when the worker has left in good order. */
export async function runWorker(order: WorkerOrder, config: Config, version: string): Promise<void> {
  const { slot, url, concurrency, capabilities } = order;
  const platform = systemPlatform;
  const clock = systemClock();
  const log = processLog(config, clock);
  const roots = order.roots.length > 0 ? order.roots : config.sessionRoots;
  const { runner, close } = openRunner(
    {
      runner: order.runner ?? runnerOf(config),
      command: order.command ?? config.sessionCommand,
      roots,
      env: [...config.sessionEnv, ...order.env],
      sessions: sessionsOf(order, config),
    },
    { platform: nodePlatform, clock, config },
  );
  const stop = stopSignals();
  const own = await tokenWhenReachable(order, config, stop.signal, log);
  if (own === null) return;
  const caller = new Caller({
    baseUrl: url,
    token: own.token,
    retries: RETRIES,
    timeoutMs: CALL_MS,
    platform,
  });
  const options = {
    target: slot,
    capabilities,
    runner,
    caller,
    platform,
    log,
    url,
    about: { workerVersion: version },
    process: thisProcess(hostname()),
    wallMs: () => systemTime.wallMs(),
    defaultDir: roots[0] ?? null,
    idleBeatMs: config.idleBeatMs,
    workingBeatMs: config.workingBeatMs,
    pollMs: config.workerPollMs,
    drainMs: config.workerDrainMs,
    sessionTimeoutMs: config.sessionTimeoutMs,
    sessionTimeoutMaxMs: config.sessionTimeoutMaxMs,
    onStarted: ({ heartbeatsFile }: StartedSlot) => linkHeartbeats(heartbeatsFile, log),
  };
  const services = slotNames(slot, concurrency).map((name) => new WorkerService({ ...options, slot: name }));
  stop.onStop(() => stopAll(services));
  try {
    await runAll(services);
  } finally {
    await own.revoke();
    await caller.close();
    await close();
    stop.done();
    await log.end();
  }
}

/** One task at a time for each: `slot-1`, `slot-1.2`, `slot-1.3`. */
function slotNames(slot: string, concurrency: number): string[] {
  return Array.from({ length: concurrency }, (_, i) => (i === 0 ? slot : `${slot}.${i + 1}`));
}

function stopAll(services: readonly WorkerService[]): void {
  for (const service of services) service.stop();
}

/** What one slot cannot go on with, none can: the others leave in good order first. */
async function runAll(services: readonly WorkerService[]): Promise<void> {
  let hasFailed = false;
  const ends = services.map((service) =>
    service.run().catch((error: unknown) => {
      // Once: told again they would not wait for what they have.
      if (!hasFailed) stopAll(services);
      hasFailed = true;
      throw error;
    }),
  );
  await Promise.allSettled(ends);
  await Promise.all(ends);
}

/** A machine without a word about sessions tries things out. */
function runnerOf(config: Config): RunnerName {
  const runner = sessionRunnerOf(config);
  return runner === 'off' ? 'demo' : runner;
}

/** The server of the tasks is trusted with our token, another one has its own. */
function sessionsOf({ sessionsUrl, url, token }: WorkerOrder, { sessionsToken }: Config) {
  if (sessionsUrl === null) return null;
  const isSame = new URL(sessionsUrl).origin === new URL(url).origin;
  return { url: sessionsUrl, token: sessionsToken ?? (isSame ? token : undefined) };
}

/** A server that is down when the worker starts is waited for, as later on; null when the worker is to stop first. */
async function tokenWhenReachable(
  { url, token, slot }: WorkerOrder,
  { workerPollMs }: Config,
  signal: AbortSignal,
  log: Log,
): Promise<WorkerToken | null> {
  for (let failures = 0; !signal.aborted; failures++) {
    try {
      return await workerToken(url, token, slot, thisProcess(hostname()));
    } catch (error) {
      if (error instanceof SpineApiError && error.status < 500 && error.status !== 429) throw error;
      log.warn('The server cannot be reached', { slot, error });
      await sleep(systemPlatform, pollWaitMs(systemPlatform, workerPollMs, failures), signal).catch(
        () => undefined,
      );
    }
  }
  return null;
}

/** Heard from the very start; the first stops in good order, the next at once. */
function stopSignals() {
  const first = new AbortController();
  let onStop: (() => void) | null = null;
  const ask = (): void => {
    first.abort(new Error('The worker stops.'));
    onStop?.();
  };
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.on(name, ask);
  return {
    signal: first.signal,
    onStop: (task: () => void) => {
      onStop = task;
      if (first.signal.aborted) task();
    },
    done: () => {
      for (const name of ['SIGTERM', 'SIGINT'] as const) process.off(name, ask);
    },
  };
}

const FOLDER = '.clawhub';
const LINK = `${FOLDER}/worker-heartbeats.json`;

/** For scripts that look in the worker's own folder, when it has one for them and the server is on this machine. */
function linkHeartbeats(file: string | null, log: Log): void {
  const isFolder = statSync(FOLDER, { throwIfNoEntry: false })?.isDirectory() === true;
  if (file === null || !isFolder || statSync(file, { throwIfNoEntry: false }) === undefined) return;
  const known = lstatSync(LINK, { throwIfNoEntry: false });
  if (known !== undefined && !known.isSymbolicLink()) return;
  try {
    rmSync(LINK, { force: true });
    symlinkSync(file, LINK);
  } catch (error) {
    log.warn('The file of heartbeats could not be linked', { file, error });
  }
}
