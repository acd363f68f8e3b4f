import { callLimitsOf } from '../../src/app/call-limits.ts';
import { loadConfig } from '../../src/config.ts';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import type { Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { BlobStore } from '../../src/blobs/blobs.ts';
import { openDiskBlobs } from '../../src/blobs/disk.ts';
import { diskObjects } from '../../src/objects/disk.ts';
import type { EngineOptions } from '../../src/engine/core.ts';
import { type OpenEngine, openEngine } from '../../src/engine/open-engine.ts';
import { credentialsOf } from '../../src/http/auth.ts';
import { DOORS } from '../../src/http/doors.ts';
import { buildServer, type ServerOptions } from '../../src/http/server.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { systemIds } from '../../src/runtime/ids.ts';
import { openSqlite } from '../../src/store/sqlite.ts';
import { type HttpClient, httpClient } from '../support/http.ts';
import { checked } from './description.ts';

interface OpenServer {
  readonly url: string;
  readonly port: number;
  readonly head: HttpClient;
  readonly left: HttpClient;
  readonly right: HttpClient;
  readonly anyone: HttpClient;
  readonly tokens: { readonly head: string; readonly left: string; readonly right: string };
  readonly engine: OpenEngine;
  /** The server that listens. */
  readonly server: Server;
  readonly blobsFolder: string;
  /** What the server told its log. */
  readonly logged: { readonly message: string; readonly facts: Readonly<Record<string, unknown>> }[];
}

/** A listening server over an engine with a database in memory, in this process; it ends with the test. */
export async function openServer(
  t: TestContext,
  changed: (options: ServerOptions) => Partial<ServerOptions> = () => ({}),
  engineOptions: Partial<EngineOptions> = {},
): Promise<OpenServer> {
  const folder = await mkdtemp(join(tmpdir(), 'spine-http-'));
  const blobsFolder = join(folder, 'blobs');
  const clock = systemClock();
  const store = openSqlite({ file: ':memory:', identity: 'http' });
  const engine = openEngine({
    store,
    clock,
    ids: systemIds(),
    settings: { leaseMs: 60_000, maxAttempts: 5, maxUnfinishedJobs: 1_000_000 },
    ...engineOptions,
  });
  const blobStore: BlobStore = await openDiskBlobs({
    folder: blobsFolder,
    newId: randomUUID,
    now: () => clock.now(),
  });
  const tokens = { head: secret('head'), left: secret('left'), right: secret('right') };
  const logged: OpenServer['logged'] = [];
  const options: ServerOptions = {
    doors: DOORS,
    engine,
    clock,
    credentials: credentialsOf({ head: [tokens.head], left_claw: [tokens.left], right_claw: [tokens.right] }),
    allowedHosts: ['spine.lan'],
    trustedProxies: [],
    allowedOrigins: [],
    bodyLimitBytes: 1_048_576,
    blobLimitBytes: 1_048_576,
    answerRoomBytes: 33_554_432,
    connections: {
      maxConnections: 10_000,
      headersTimeoutMs: 10_000,
      requestTimeoutMs: 300_000,
      keepAliveMs: 72_000,
    },
    blobStore,
    objects: diskObjects(join(folder, 'objects'), 'worker-data'),
    callLimits: callLimitsOf(loadConfig({})),
    readsAtOnce: 1,
    skillMdPath: join(folder, 'SKILL.md'),
    version: '0.0.0-test',
    unready: () => null,
    unserved: () => null,
    health: () => ({ loops: {} }),
    gauges: () => ({
      waitingClaims: engine.core.waiters.size,
      waitingReads: engine.core.ends.size,
      pendingCommands: 0,
      loops: [],
      spans: null,
      droppedLines: 0,
    }),
    letsNeighboursIn: false,
    settings: () => [{ name: 'SPINE_PORT', value: '1', origin: 'default' }],
    log: {
      error: (message, facts) => void logged.push({ message, facts }),
      sparingly: (_kind, _level, message, facts) => void logged.push({ message, facts }),
      debug: null,
    },
    monoMs: () => performance.now(),
    startedS: 1,
    slowMs: 0,
    metrics: true,
  };
  const app = buildServer({ ...options, ...changed(options) });
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  const clients = {
    head: checked(httpClient(url, { token: tokens.head })),
    left: checked(httpClient(url, { token: tokens.left })),
    right: checked(httpClient(url, { token: tokens.right })),
    anyone: checked(httpClient(url)),
  };
  t.after(async () => {
    for (const client of Object.values(clients)) client.close();
    await app.close();
    await store.close();
    await rm(folder, { recursive: true, force: true });
  });
  return {
    ...clients,
    url,
    port: Number(new URL(url).port),
    tokens,
    engine,
    server: app.server,
    blobsFolder,
    logged,
  };
}

function secret(role: string): string {
  return `${role}-${randomBytes(18).toString('base64url')}`;
}
