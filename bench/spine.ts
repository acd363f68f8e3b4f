/** Spine, opened as its server opens it: durable, with events written and all background loops running. */

import { join } from 'node:path';
import { startDuties } from '../src/app/duties.ts';
import { log } from '../src/channels/log.ts';
import type { Actor, ClaimedJob } from '../src/domain/command.ts';
import { isFinal } from '../src/domain/job.ts';
import { LIMITS } from '../src/domain/limits.ts';
import { type OpenEngine, openEngine } from '../src/engine/open-engine.ts';
import { systemClock } from '../src/runtime/clock.ts';
import { systemIds } from '../src/runtime/ids.ts';
import { openPostgres } from '../src/store/postgres.ts';
import { openSqlite } from '../src/store/sqlite.ts';
import { type Payload, payload } from './measure.ts';
import type { Place, Queue } from './queue.ts';

export const HEAD: Actor = { name: 'head', role: 'head', targets: null };
export const CLAW: Actor = { name: 'left-claw', role: 'worker', targets: ['left-claw'] };

/** The defaults of SPINE_PG_LANES and SPINE_PG_POOL. */
const LANES = 3;
const POOL = 8;
const HOUR_MS = 3_600_000;

export interface Spine {
  readonly engine: OpenEngine;
  readonly close: () => Promise<void>;
}

export async function openSpine(place: Place): Promise<Spine> {
  const clock = systemClock();
  const ids = systemIds();
  const identity = ids.jobId(clock.now());
  const store =
    place.url === null
      ? openSqlite({ file: join(place.folder, 'spine.db'), identity, wallMs: Date.now })
      : await openPostgres({ url: place.url, identity, lanes: LANES, pool: POOL, clock });
  const settings = { leaseMs: HOUR_MS, maxAttempts: 5, maxUnfinishedJobs: 10_000_000 };
  const engine = openEngine({ store, clock, ids, settings });
  const duties = startDuties({
    core: engine.core,
    clock,
    reaperIntervalMs: 60_000,
    tickMs: 10_000,
    messageDeliveryMs: 10_000,
    pruneMs: 60_000,
    stuckScanMs: 60_000,
    retryScanMs: 30_000,
    model: null,
    watchdog: { everyMs: 120_000, endSession: async () => undefined, onStale: () => undefined },
    retentionMs: 24 * HOUR_MS,
    notices: [],
    channelOf: () => log(() => undefined),
    files: [],
    forget: async () => undefined,
    onError: (name, error) => process.stderr.write(`${name}: ${String(error)}\n`),
  });
  return {
    engine,
    close: async () => {
      await duties.stop();
      await engine.core.flusher.stop();
      await store.close();
    },
  };
}

/** How a worker takes its jobs: so many claimers, each with so many jobs at a time. */
export interface Claiming {
  readonly claimers: number;
  readonly max: number;
}

export const ONE_BY_ONE: Claiming = { claimers: 50, max: 1 };
/** As many at once as a claim may take. */
export const IN_BATCHES: Claiming = { claimers: 4, max: LIMITS.claimJobs };

export async function openSpineQueue(place: Place, claiming: Claiming): Promise<Queue> {
  const { engine, close } = await openSpine(place);
  const count = async (final: boolean): Promise<number> =>
    (await engine.counts())
      .filter(({ state }) => isFinal(state) === final)
      .reduce((sum, { n }) => sum + n, 0);
  return {
    add: (input) => engine.jobs.create(HEAD, [draft(input)]),
    addMany: (inputs) => engine.jobs.create(HEAD, inputs.map(draft)),
    work: async (handle) => {
      const drained = drain(engine, claiming, handle);
      return { stop: async () => void (await drained) };
    },
    left: () => count(false),
    finished: () => count(true),
    close,
  };
}

export function draft(input: unknown): { target: string; params: unknown } {
  return { target: 'left-claw', params: input };
}

/** Claims and completes until nothing is left to claim; answers how many jobs that were. */
export async function drain(
  engine: OpenEngine,
  claiming: Claiming,
  handle: (payload: Payload) => void,
): Promise<number> {
  let done = 0;
  const wanted = { targets: ['left-claw'], max: claiming.max };
  const claimer = async (): Promise<void> => {
    let claimed = await engine.leases.claimNext(CLAW, { ...wanted, waitMs: 0 });
    while (claimed.length > 0) {
      done += claimed.length;
      claimed = await (claiming.max > 1 ? finishAll(claimed) : finishOne(claimed));
    }
  };
  /** As whoever takes many at once ends them: all together, and each judged by itself. */
  const finishAll = async (claimed: readonly ClaimedJob[]): Promise<readonly ClaimedJob[]> => {
    const ends = claimed.map(({ job, input }) => {
      handle(payloadOf(input?.params ?? null));
      return { id: job.id, leaseToken: job.leaseToken, result: null };
    });
    const { ended } = await engine.leases.completeMany(CLAW, ends, null);
    const refused = ended.find((answer) => !answer.ok);
    if (refused) throw new Error(`a job could not be ended: ${JSON.stringify(refused)}`);
    return engine.leases.claimNext(CLAW, { ...wanted, waitMs: 0 });
  };
  const finishOne = async (claimed: readonly ClaimedJob[]): Promise<readonly ClaimedJob[]> => {
    for (const { job, input } of claimed) {
      handle(payloadOf(input?.params ?? null));
      await engine.leases.complete(CLAW, job.id, job.leaseToken, null);
    }
    return engine.leases.claimNext(CLAW, { ...wanted, waitMs: 0 });
  };
  await Promise.all(Array.from({ length: claiming.claimers }, claimer));
  return done;
}

function payloadOf(params: string | null): Payload {
  return JSON.parse(params ?? 'null') as Payload;
}

/** Enough work to have the code compiled before the clock starts. */
export async function warmUp(engine: OpenEngine, jobs: number): Promise<void> {
  await engine.jobs.create(
    HEAD,
    Array.from({ length: jobs }, (_, i) => draft(payload(i))),
  );
  await drain(engine, IN_BATCHES, () => undefined);
}
