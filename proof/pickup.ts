import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { JobBody } from '../test/support/http.ts';
import { startServer, type TestServer } from '../test/support/server.ts';
import { startWorker, untilBeat, type WorkerProcess } from '../test/support/worker-process.ts';
import { percentile, rounded } from './measure.ts';
import { coreShare } from './process.ts';
import { type ProofReport, report } from './report.ts';
import type { ProofStore } from './stores.ts';

const CREW = fileURLToPath(new URL('pickup/crew.ts', import.meta.url));
/** What people run: the times of the settings, not those of the tests. */
const DEFAULTS = {
  SPINE_WORKER_IDLE_BEAT_MS: '30000',
  SPINE_WORKER_BEAT_MS: '15000',
  SPINE_WORKER_POLL_MS: '30000',
};
/** A worker waits a part of its poll before its first claim. */
const ALL_WAIT_MS = 35_000;
const PICKED_UP_WITHIN_MS = 10_000;
/** Processes that start at once; more would only wait for each other. */
const STARTED_TOGETHER = 5;

export interface PickupOptions {
  /** Processes of `spine worker` that wait while the times are taken. */
  readonly workers: number;
  readonly samples: number;
  readonly idleWorkers: number;
  readonly idleMs: number;
  readonly limits: { readonly pickupMs: number; readonly coreShare: number };
}

/** A task begins within milliseconds though many workers wait, and those that wait cost the server next to nothing. */
export async function provePickup(store: ProofStore, options: PickupOptions): Promise<ProofReport> {
  const startedMs = performance.now();
  const { limits, workers, idleWorkers } = options;
  const violations: string[] = [];
  const times = await pickups(store, options);
  const p99 = rounded(percentile(times, 0.99));
  if (!(p99 < limits.pickupMs)) violations.push(`from create to the start of the session: ${p99} ms (p99)`);
  const share = await idleShare(store, options);
  const percent = share === undefined ? undefined : rounded(share * 100);
  if (share !== undefined && share >= limits.coreShare)
    violations.push(`${idleWorkers} idle workers took ${percent} % of a core of the server`);
  return report({
    proof: 'pickup',
    store: store.kind,
    summary:
      `with ${workers} workers waiting a session began p50 ${rounded(percentile(times, 0.5))} ms, p99 ${p99} ms after the create; ` +
      `${idleWorkers} idle workers took ${percent ?? '?'} % of a core of the server`,
    counts: {
      workers,
      samples: times.length,
      pickupP99Ms: p99,
      idleWorkers,
      ...(percent === undefined ? {} : { corePercent: percent }),
    },
    violations,
    startedMs,
  });
}

/** From sending the create until the worker says that its session begins. */
async function pickups(store: ProofStore, { workers, samples }: PickupOptions): Promise<number[]> {
  const cleanUps: (() => void | Promise<void>)[] = [];
  const t = { after: (task: () => void | Promise<void>) => void cleanUps.push(task) };
  await using server = await startServer({ ...store.server, env: { SPINE_BRIDGE_AUTH: 'loopback' } });
  try {
    const crew: { slot: string; worker: WorkerProcess }[] = [];
    for (let n = 1; n <= workers; n++) {
      const slot = `slot-${n}`;
      crew.push({ slot, worker: startWorker(t, server, slot, { env: DEFAULTS }) });
      if (n % STARTED_TOGETHER === 0) await untilBeat(server, slot, 'idle');
    }
    for (const { slot } of crew) await untilBeat(server, slot, 'idle');
    await sleep(ALL_WAIT_MS);
    const times: number[] = [];
    for (let n = 0; n < samples; n++) {
      const one = crew[n % crew.length];
      if (one !== undefined) times.push(await pickup(server, one.slot, one.worker));
    }
    return times;
  } finally {
    await Promise.all(cleanUps.map(async (task) => task()));
  }
}

async function pickup(server: TestServer, slot: string, worker: WorkerProcess): Promise<number> {
  const sentMs = performance.now();
  const { body } = await server.head.post<JobBody>('/jobs', { target: slot, title: `for ${slot}` });
  const begun = (): boolean =>
    worker
      .output()
      .split('\n')
      .some((line) => line.includes('A task begins') && line.includes(body.id));
  while (!begun()) {
    if (performance.now() - sentMs > PICKED_UP_WITHIN_MS) throw new Error(`${slot} did not begin ${body.id}`);
    await sleep(1);
  }
  return performance.now() - sentMs;
}

async function idleShare(
  store: ProofStore,
  { idleWorkers, idleMs }: PickupOptions,
): Promise<number | undefined> {
  await using server = await startServer(store.server);
  const crew = spawn(process.execPath, [CREW, server.url, server.tokens.head, String(idleWorkers)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(crew, 'exit');
  try {
    await Promise.race([once(crew.stdout, 'data'), ended]);
    if (crew.exitCode !== null) throw new Error('the idle workers ended by themselves');
    await sleep(ALL_WAIT_MS);
    return await coreShare(server.pid, idleMs);
  } finally {
    crew.kill('SIGKILL');
    await ended;
  }
}
