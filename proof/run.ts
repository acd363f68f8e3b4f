import { parseArgs } from 'node:util';
import { proveAbuse } from './abuse.ts';
import { proveAsk } from './ask.ts';
import { proveBackup } from './backup.ts';
import { proveBulk } from './bulk.ts';
import { proveContention } from './contention.ts';
import { proveDiskFull } from './disk-full.ts';
import { proveFeed } from './feed.ts';
import { proveFuzz } from './fuzz.ts';
import { proveKillDatabase } from './kill-database.ts';
import { proveKill } from './kill.ts';
import { proveMail } from './mail.ts';
import { proveMillion } from './million.ts';
import { proveOpenApiFuzz } from './openapi-fuzz.ts';
import { provePartition } from './partition.ts';
import { provePickup } from './pickup.ts';
import { provePowerCut } from './power-cut.ts';
import { freshSeed } from './random.ts';
import { proveRecovery } from './recovery.ts';
import { printReport, type ProofReport } from './report.ts';
import { proveRetries } from './retries.ts';
import { proveSchedules } from './schedules.ts';
import { proveStale } from './stale.ts';
import { proveStall } from './stall.ts';
import { proveStart } from './start.ts';
import {
  durablePostgres,
  openStore,
  type PostgresSource,
  type ProofStore,
  type StoreKind,
} from './stores.ts';
import { proveWaiters } from './waiters.ts';
import { proveWorkers } from './workers.ts';
import { proveYear } from './year.ts';

/** Counts of the full size; `scale` makes every proof smaller or larger alike. */
interface Run {
  readonly kind: StoreKind;
  readonly postgres: PostgresSource;
  readonly seed: number;
  /** A part of the names of abuse's ways: the others are left out. */
  readonly way: string;
  sized(full: number): number;
}

const STORES: readonly StoreKind[] = ['sqlite', 'postgres'];

/** Each gives one report, or the reason why it says nothing here. */
const PROOFS: Readonly<Record<string, (run: Run) => Promise<ProofReport | string>>> = {
  start: (run) => onStore(run, (store) => proveStart(store, { starts: run.sized(20) })),
  kill: (run) => onStore(run, (store) => proveKill(store, { kills: run.sized(100), seed: run.seed })),
  terminate: (run) =>
    onStore(run, (store) => proveKill(store, { kills: run.sized(20), seed: run.seed, how: 'SIGTERM' })),
  'kill-database': async (run) => {
    if (run.kind === 'sqlite') return 'an embedded database dies with its server';
    return onStore(run, (store) => proveKillDatabase(store, { kills: run.sized(20), seed: run.seed }));
  },
  stall: (run) =>
    onStore(run, (store) =>
      proveStall(store, { silentLeaseMs: 3_000, beatingLeaseMs: 1_500, awayMs: 4_000 }),
    ),
  recovery: async (run) => {
    if (run.kind === 'sqlite') return 'several servers share one store only on PostgreSQL';
    return onStore(run, (store) => proveRecovery(store, { limitMs: 15_000 }));
  },
  ask: (run) =>
    onStore(run, (store) => proveAsk(store, { jobs: run.sized(200), kills: run.sized(20), seed: run.seed })),
  retries: (run) =>
    onStore(run, (store) =>
      proveRetries(store, { tasks: run.sized(2_000), kills: run.sized(20), modelMs: 2_000, seed: run.seed }),
    ),
  stale: (run) =>
    onStore(run, (store) => proveStale(store, { workers: 5, jobsEach: 5, rounds: run.sized(12) })),
  workers: (run) =>
    onStore(run, (store) => proveWorkers(store, { slots: 4, cycles: run.sized(500), seed: run.seed })),
  pickup: (run) =>
    onStore(run, (store) =>
      provePickup(store, {
        workers: run.sized(50),
        samples: run.sized(300),
        idleWorkers: run.sized(200),
        idleMs: 60_000,
        limits: { pickupMs: 50, coreShare: 0.05 },
      }),
    ),
  contention: (run) =>
    onStore(run, (store) =>
      proveContention(store, { rounds: run.sized(100), jobs: run.sized(200), servers: 1 }),
    ),
  'contention-3': async (run) => {
    if (run.kind === 'sqlite') return 'several servers share one store only on PostgreSQL';
    return onStore(run, (store) =>
      proveContention(store, { rounds: run.sized(100), jobs: run.sized(200), servers: 3 }),
    );
  },
  partition: async (run) => {
    if (run.kind === 'sqlite') return 'an embedded database has no network to break';
    return onStore(run, (store) => provePartition(store, { faults: run.sized(60), seed: run.seed }));
  },
  mail: (run) =>
    onStore(run, (store) =>
      proveMail(store, { messages: run.sized(2_000), kills: run.sized(40), seed: run.seed }),
    ),
  schedules: (run) =>
    onStore(run, (store) =>
      proveSchedules(store, {
        runs: run.sized(50),
        due: run.sized(1_000),
        agentMs: 60_000,
        many: run.sized(400) * 20,
        idleMs: 20_000,
        limits: {
          startMs: 100,
          approvedMs: 1_000,
          chainMs: 1_000,
          startsPerS: 200,
          growth: 2,
          idleShare: 0.005,
          idleMb: 40,
        },
      }),
    ),
  year: async (run) => {
    if (run.kind === 'postgres') return 'the year is simulated in memory';
    return proveYear({ schedules: run.sized(500), days: 365, seed: run.seed });
  },
  waiters: (run) =>
    onStore(run, (store) =>
      proveWaiters(store, {
        workers: run.sized(500),
        jobs: run.sized(10_000),
        samples: 200,
        idleMs: 10_000,
        limits: { coreShare: 0.02, latencyMs: 10, acrossMs: 15 },
      }),
    ),
  bulk: (run) =>
    onStore(run, (store) => proveBulk(store, { jobs: run.sized(100_000), limits: { p99Ms: 50 } })),
  feed: (run) =>
    onStore(run, (store) =>
      proveFeed(store, {
        jobs: run.sized(2_000),
        servers: run.kind === 'postgres' ? 3 : 1,
        stalled: run.sized(200),
        unreadMb: 3,
        stalledLimitMb: 64,
        settleMs: 3_000,
        seed: run.seed,
      }),
    ),
  backup: async (run) => {
    if (run.kind === 'postgres') return 'a database on PostgreSQL is backed up with its own tools';
    return proveBackup({ snapshots: run.sized(20), seed: run.seed });
  },
  'disk-full': async (run) => {
    if (run.kind === 'postgres') return "the disk of a PostgreSQL server is its operator's";
    return proveDiskFull({ cycles: run.sized(30) });
  },
  abuse: (run) =>
    onStore(run, (store) =>
      proveAbuse(store, {
        connections: run.sized(200),
        forMs: run.sized(20_000),
        workers: 20,
        creators: 5,
        way: run.way,
        limits: { heartbeatP99Ms: 250, memoryMb: 400 },
      }),
    ),
  'power-cut': async (run) => {
    if (run.kind === 'postgres') return "the disk of a PostgreSQL server is its operator's";
    return provePowerCut({ cuts: run.sized(200), seed: run.seed, planted: true });
  },
  fuzz: (run) => onStore(run, (store) => proveFuzz(store, { requests: run.sized(10_000), seed: run.seed })),
  'openapi-fuzz': (run) =>
    onStore(run, (store) => proveOpenApiFuzz(store, { requests: run.sized(10_000), seed: run.seed })),
  million: (run) =>
    proveMillion(run.kind, run.postgres, {
      finished: run.sized(1_000_000),
      queued: run.sized(100_000),
      samples: 200,
    }),
};

async function onStore(run: Run, prove: (store: ProofStore) => Promise<ProofReport>): Promise<ProofReport> {
  await using store = await openStore(run.kind, run.postgres);
  return await prove(store);
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    scale: { type: 'string', default: '1' },
    store: { type: 'string' },
    seed: { type: 'string' },
    way: { type: 'string', default: '' },
  },
});
const scale = Number(values.scale);
const seed = values.seed === undefined ? freshSeed() : Number(values.seed);
const names = positionals.length > 0 ? positionals : Object.keys(PROOFS);
const kinds = STORES.filter((kind) => values.store === undefined || values.store === kind);
const unknown = names.filter((name) => PROOFS[name] === undefined);
if (unknown.length > 0 || kinds.length === 0 || !(scale > 0) || !Number.isInteger(seed)) {
  const usage = `usage: npm run proof [${Object.keys(PROOFS).join('|')}…] [-- --scale 0.1 --store sqlite|postgres --seed 1 --way logs]`;
  process.stderr.write(
    `${unknown.length > 0 ? `there is no proof named ${unknown.join(', ')}\n` : ''}${usage}\n`,
  );
  process.exit(2);
}

await using postgres = durablePostgres();
for (const name of names) {
  for (const kind of kinds) {
    const sized = (full: number): number => Math.max(1, Math.round(full * scale));
    const found = await PROOFS[name]?.({ kind, postgres, seed, way: values.way, sized });
    if (found === undefined) continue;
    if (typeof found === 'string') {
      process.stdout.write(`${name} on ${kind}: skipped, ${found}\n`);
      continue;
    }
    printReport(found);
    if (!found.holds) process.exitCode = 1;
  }
}
