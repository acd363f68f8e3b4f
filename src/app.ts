/** The composition root of a server: it knows every part. That of a worker is app/worker-process.ts. */

import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { flushCompileCache } from 'node:module';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { type Backups, openBackups } from './app/backups.ts';
import { blobDuties, type Blobs, openBlobs } from './app/blobs.ts';
import { callLimitsOf } from './app/call-limits.ts';
import { chatCommands, openChannels, operatorChat } from './app/channels.ts';
import { type Duties, startDuties } from './app/duties.ts';
import { type EmbeddedWorkers, startEmbeddedWorkers } from './app/embedded-worker.ts';
import { type Files, openFiles } from './app/files.ts';
import { type Objects, openObjects } from './app/objects.ts';
import { greeting } from './app/greeting.ts';
import { noticeOf } from './app/notices.ts';
import { jobLog } from './app/job-log.ts';
import { endingOf } from './app/left-sessions.ts';
import type { Log } from './app/log.ts';
import { processLog } from './app/process-log.ts';
import { openProbes, type Probes } from './app/probes.ts';
import { unreadyBecause } from './app/readiness.ts';
import { adviceOf, modelOf } from './app/model.ts';
import { announceServer } from './app/server-file.ts';
import { alsoValid, ownTokens, type ServerTokens, sharedTokens } from './app/server-tokens.ts';
import { openTracer } from './app/tracing.ts';
import { sessionRunnerOf } from './app/session-runner.ts';
import { EXIT, explained, Fault } from './app/start-error.ts';
import { type StopRequest, stopRequest } from './app/stop-request.ts';
import { openStorage, type Storage } from './app/storage.ts';
import { servedAnywhere, unservedBecause, unservedOf } from './app/unserved.ts';
import { watchUnexpected } from './app/unexpected.ts';
import { AddressGuard } from './channels/guard.ts';
import { operatorWebhook } from './channels/operator-webhook.ts';
import { type Config, describe } from './config.ts';
import type { Clock } from './domain/ports.ts';
import { keepWorkers } from './engine/agents.ts';
import { type OpenEngine, openEngine } from './engine/open-engine.ts';
import { HeartbeatsFile, heartbeatsFile } from './files/heartbeats-file.ts';
import { credentialsOf } from './http/auth.ts';
import { DOORS } from './http/doors.ts';
import { buildServer } from './http/server.ts';
import { objectSweeper } from './loops/object-sweeper.ts';
import { dataDirWatch } from './loops/keepers.ts';
import type { Tracer } from './loops/tracer.ts';
import { systemClock, systemTime } from './runtime/clock.ts';
import { boundHeap } from './runtime/heap.ts';
import { systemIds } from './runtime/ids.ts';
import { giveBackAtRest } from './runtime/idle-memory.ts';
import { DataDirError } from './store/datadir.ts';
import { configuredTokens, type PreparedTokens, prepareTokens } from './tokens.ts';

const DAY_MS = 86_400_000;
/** How soon the data of a removed task is removed. */
const OBJECTS_MS = 60_000;

export interface Out {
  print(line: string): void;
  warn(line: string): void;
}

export interface App {
  readonly url: string;
  readonly engine: OpenEngine;
  /** Node's own server, beneath the routes. */
  readonly http: Server;
  readonly tokens: ServerTokens;
  readonly log: Log;
  /** Stops taking work, waits for what is under way as long as the settings say, and lets go of everything. */
  close(): Promise<void>;
}

/** Opens a whole server in this process. It ends the process when the store can no longer be trusted. */
async function openApp(config: Config): Promise<App> {
  const clock = systemClock();
  const ids = systemIds();
  const log = processLog(config, clock);
  const onFatal = (error: Error): void => {
    if (error instanceof DataDirError) log.error(error.message);
    else log.error('The disk refused to make a write durable; stopping', { error });
    process.exit(EXIT.disk);
  };
  const storage = await openStorage(config, clock, ids, onFatal);
  try {
    const prepared =
      config.databaseUrl === null ? prepareTokens(config, randomBytes) : configuredTokens(config);
    const backups = openBackups(config, version(), () => clock.now(), log);
    const files = await openFiles(config, storage, clock, log);
    const guard = new AddressGuard(config.webhookAllowedHosts);
    const engine = openEngine({
      store: storage.store,
      clock,
      time: systemTime,
      ids,
      site: `${hostname()}:${config.port === 0 ? ids.leaseToken() : config.port}`,
      settings: {
        leaseMs: config.leaseMs,
        maxAttempts: config.defaultMaxAttempts,
        maxUnfinishedJobs: config.maxUnfinishedJobs,
      },
      scheduling: {
        shell: config.shell === 'on',
        gateways: ['main', ...(config.gateways ?? []).map(({ name }) => name)],
        chainDepth: config.maxChainDepth,
      },
      workers: {
        staleMs: config.workerStaleMs,
        onlineMs: config.onlineMs,
        botTasks: config.botTasks,
        sessionTimeoutMs: config.sessionTimeoutMs,
        sessionTimeoutMaxMs: config.sessionTimeoutMaxMs,
        sessions: sessionRunnerOf(config) !== 'off',
        heartbeatsFile: resolve(heartbeatsFile(config.dataDir)),
      },
      stuck: {
        runningMs: config.stuckRunningMs,
        offlineMs: config.stuckOfflineMs,
        limitMs: config.stuckLimitMs,
      },
      advice: adviceOf(config),
      breakerFailures: config.breakerFailures,
      outbox: config.webhookUrl === null ? () => null : noticeOf,
      chat: operatorChat(config),
      dayTz: config.dayTz,
      logins: {
        secret: config.jwtSecret,
        accessMs: config.jwtAccessMs,
        refreshMs: config.jwtRefreshMs,
      },
      webhookProblem: (url) => guard.problem(url),
      forgetFiles: (ids) => files.forget(ids),
      metrics: config.metrics,
      configured: prepared === null ? [] : credentialsOf(prepared.tokens).map(({ actor }) => actor.name),
    });
    if (log.writes('warn')) engine.core.watchers.push(jobLog(log, clock));
    const tracer = openTracer(config, engine.core, version(), log);
    await engine.core.continueTime();
    const tokens = await tokensOf(config, engine, prepared);
    await storage.store.listen((wakeUps) => engine.core.heardOf(wakeUps));
    const blobPorts = { newId: () => ids.jobId(engine.now()), now: () => engine.now(), netClock: clock };
    const blobs = await openBlobs(config, blobPorts, log);
    const objects = await openObjects(config, clock, log);
    const probes = openProbes(guard, config.shell === 'on', clock);
    let workers: EmbeddedWorkers | null = null;
    engine.core.gatewaysHere = () =>
      workers?.status().map(({ target, ready, why }) => ({ target, ready, why })) ?? null;
    engine.core.hints.crowded = (worker, held) =>
      log.warn('A worker holds as many tasks as one may; it gets no more until it ends some', {
        worker,
        held,
      });
    const duties = startDuties({
      core: engine.core,
      clock,
      reaperIntervalMs: config.reaperIntervalMs,
      retentionMs: config.retentionDays * DAY_MS,
      tickMs: config.tickMs,
      messageDeliveryMs: config.messageDeliveryMs,
      pruneMs: config.pruneMs,
      stuckScanMs: config.stuckScanMs,
      retryScanMs: config.retryScanMs,
      model: modelOf(config),
      watchdog: {
        everyMs: config.watchdogMs,
        endSession: endingOf({ engine, endTurn: () => workers?.endTurn ?? null, clock, log }),
        onStale: ({ slot, jobId: task, sessionId, lastUpdate }) =>
          log.warn('A worker was not heard from and is marked offline', {
            slot,
            task,
            sessionId,
            lastUpdate,
          }),
      },
      notices:
        config.webhookUrl === null
          ? []
          : [
              operatorWebhook({
                url: config.webhookUrl,
                secret: config.webhookSecret,
                now: () => engine.now(),
              }),
            ],
      channelOf: openChannels(config, guard, log, () => engine.now()),
      onMoved: (moved) =>
        log.warn('A chat has another number now; what goes there is sent to that one', moved),
      askProbe: probes.ask,
      digestAt: operatorChat(config) === null ? null : config.digestAt,
      chatCommands: chatCommands(config, (problem) =>
        log.warn('Commands of the chat cannot be read now', { problem }),
      ),
      files: [
        ...files.duties,
        new HeartbeatsFile(config.dataDir, storage.store.read, () => clock.now()),
        ...backups.duties,
        ...(storage.dataDir === null ? [] : [dataDirWatch(storage.look, onFatal)]),
        ...(tracer === null ? [] : [tracer]),
        objectSweeper(engine.core, objects.store, OBJECTS_MS),
        ...(await blobDuties(config, engine, blobs, log)),
      ],
      forget: (ids) => files.forget(ids),
      onError: (loop, error) => log.warn('A background pass failed; it will be tried again', { loop, error }),
    });
    const parts: Parts = {
      config,
      engine,
      tracer,
      storage,
      blobs,
      objects,
      duties,
      probes,
      files,
      backups,
      tokens,
      log,
      clock,
    };
    const server = await listen(parts).catch(async (error: unknown) => {
      await closeAll(parts);
      throw error;
    });
    const url = urlOf(config, server);
    // A server that cannot come up whole does not go on in part: it would answer calls and do nothing.
    parts.workers = workers = await startEmbeddedWorkers({ engine, config, clock, log, url }).catch(
      async (error: unknown) => {
        await closeAll(parts, server);
        throw error;
      },
    );
    return {
      url,
      engine,
      http: server.server,
      tokens,
      log,
      close: () => closeAll(parts, server),
    };
  } catch (error) {
    await storage.close();
    throw error;
  }
}

interface Parts {
  readonly tracer: Tracer | null;
  readonly config: Config;
  readonly engine: OpenEngine;
  readonly storage: Storage;
  readonly blobs: Blobs;
  readonly objects: Objects;
  readonly duties: Duties;
  readonly probes: Probes;
  readonly files: Files;
  readonly backups: Backups;
  readonly tokens: ServerTokens;
  readonly log: Log;
  readonly clock: Clock;
  /** They begin when the server listens: what they run may call it. */
  workers?: EmbeddedWorkers;
}

async function tokensOf(
  config: Config,
  { core }: OpenEngine,
  prepared: PreparedTokens | null,
): Promise<ServerTokens> {
  if (prepared === null) return sharedTokens(config, core);
  const own = ownTokens(config, prepared);
  return config.databaseUrl === null
    ? own
    : { ...own, warnings: [...own.warnings, ...(await alsoValid(core))] };
}

async function listen(parts: Parts): Promise<FastifyInstance> {
  const { config, engine, storage, blobs, objects, duties, files, tokens, log, clock } = parts;
  const credentials = credentialsOf(tokens.known);
  const workers = credentials.map(({ actor }) => actor).filter(({ role }) => role === 'worker');
  await keepWorkers(engine.core, [...new Set(workers.map(({ name }) => name))]);
  const server = buildServer({
    doors: DOORS,
    engine,
    credentials,
    allowedHosts: config.allowedHosts,
    trustedProxies: config.trustedProxies,
    allowedOrigins: config.allowedOrigins,
    bodyLimitBytes: config.bodyLimitBytes,
    blobLimitBytes: config.blobLimitBytes,
    answerRoomBytes: config.answerRoomBytes,
    connections: config,
    blobStore: blobs.store,
    objects: objects.store,
    callLimits: callLimitsOf(config),
    // Half of the connections are left to those who look something up for a heartbeat or a claim.
    readsAtOnce: storage.store.dialect === 'sqlite' ? 1 : Math.max(1, Math.floor(config.pgPool / 2)),
    skillMdPath: config.skillMdPath,
    version: version(),
    clock,
    settings: () => describe(config),
    letsNeighboursIn: config.bridgeAuth === 'loopback',
    gauges: () => ({
      waitingClaims: engine.core.waiters.size,
      waitingReads: engine.core.ends.size,
      pendingCommands: engine.core.flusher.pending,
      loops: duties.status(),
      spans: parts.tracer?.status() ?? null,
      droppedLines: log.dropped,
    }),
    unready: () =>
      unreadyBecause({
        store: storage.store,
        stopping: engine.core.stopping,
        started: parts.workers !== undefined,
        pulse: duties.status().find(({ name }) => name === 'pulse'),
        now: clock.now(),
      }),
    unserved: (target) => unservedBecause(target, servedAnywhere(engine.core)),
    health: async () => ({
      store: storage.store.dialect,
      pendingCommands: engine.core.flusher.pending,
      files: files.status(),
      loops: duties.status(),
      workers: parts.workers?.status() ?? [],
      unserved: unservedOf(await engine.counts(), servedAnywhere(engine.core)),
    }),
    log,
    monoMs: () => systemTime.monoMs(),
    startedS: systemTime.wallMs() / 1_000 - process.uptime(),
    slowMs: config.logSlowMs,
    metrics: config.metrics,
  });
  await server.listen({ host: config.host, port: config.port });
  return server;
}

/** Of the time to stop, what the server, its loops and the store have for themselves. */
const CLOSING_MS = 1_500;

/** How long a stopping server has for spans that wait. */
const TRACING_MS = 1_000;

/** New claims are refused first, then the answers under way go out, then the loops and the store end. */
async function closeAll(parts: Parts, server?: FastifyInstance): Promise<void> {
  const { config, engine, duties, files, storage, log } = parts;
  engine.core.stopWaiting();
  // What runs here may still call the server, so the server goes last.
  await parts.workers?.stop(Math.max(0, config.drainSeconds * 1_000 - CLOSING_MS));
  await server?.close();
  // An upload may take longer than there is time; the next start makes another.
  await parts.backups.stop();
  const patience = parts.clock.after(TRACING_MS, () => parts.tracer?.callOff());
  await duties.stop();
  // What the collector does not take now, it is not told.
  await parts.tracer?.end().catch(() => undefined);
  patience();
  await parts.probes.stop();
  await engine.core.flusher.stop();
  // The files are made from the database: what cannot be written now follows at the next start.
  await files.close().catch((error: unknown) => log.warn('The files are not up to date', { error }));
  await parts.blobs.close();
  await parts.objects.close();
  await storage.close();
}

function urlOf(config: Config, server: FastifyInstance): string {
  const address = server.server.address();
  const port = typeof address === 'object' && address !== null ? address.port : config.port;
  return `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${port}`;
}

function version(): string {
  const file = fileURLToPath(new URL('../package.json', import.meta.url));
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

/** Runs a server until a signal ends it. At a terminal somebody reads what is printed, and nothing keeps it. */
export async function serve(config: Config, out: Out, terminal: boolean): Promise<void> {
  const stop = stopRequest(systemClock(), config.drainSeconds * 1_000);
  try {
    await serveUntil(stop, config, out, terminal);
  } finally {
    stop.done();
  }
}

async function serveUntil(stop: StopRequest, config: Config, out: Out, terminal: boolean): Promise<void> {
  boundHeap();
  const app = await openApp(config).catch((error: unknown) => {
    throw explained(error, config);
  });
  watchUnexpected(app.log, (error) => stop.ask(error));
  const conceal = announceServer(config.dataDir, app.url);
  for (const line of greeting(app, config, terminal)) out.print(line);
  for (const warning of app.tokens.warnings) out.warn(warning);
  const store = config.databaseUrl === null ? 'SQLite' : 'PostgreSQL';
  app.log.info('Spine is ready', { url: app.url, store, version: version(), pid: process.pid });
  // A server that is killed would never write the cache of its compiled code.
  flushCompileCache();
  giveBackAtRest(app.http);
  const fault = await stop.asked;
  app.log.info('Spine is stopping', fault === undefined ? {} : { error: fault });
  conceal();
  await app.close();
  app.log.info('Spine has stopped');
  await app.log.end();
  if (fault !== undefined) throw new Fault(fault);
}
