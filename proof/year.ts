import type { Actor, ClaimedJob } from '../src/domain/command.ts';
import type { RunPlan } from '../src/domain/schedule.ts';
import type { OpenEngine } from '../src/engine/open-engine.ts';
import { fireDue } from '../src/engine/due-schedules.ts';
import { Pruner } from '../src/loops/pruner.ts';
import { SYSTEM } from '../src/domain/actor.ts';
import { settler } from '../src/loops/settler.ts';
import { openSqlite } from '../src/store/sqlite.ts';
import type { Store } from '../src/store/store.ts';
import { type Random, seeded } from './random.ts';
import { type ProofReport, report } from './report.ts';
import { Death, Mortals } from './year/mortal.ts';
import { expectedTicks, WallClock } from './year/oracle.ts';
import { cronOf, randomRule, type Rule } from './year/rules.ts';

export interface YearOptions {
  readonly schedules: number;
  readonly days: number;
  readonly seed: number;
}

const START = Date.UTC(2026, 0, 1);
const MINUTE = 60_000;
const DAY = 86_400_000;
const HEAD: Actor = { name: 'head', role: 'head', targets: null };
const WORKER: Actor = { name: 'w', role: 'worker', targets: null };
const DEATHS_PER_TRANSACTION = 0.002;
/** Now and then nobody is there for a while. */
const OUTAGES_A_DAY = 0.05;
/** How often all three look at the clock at the same moment, and how often the workers look for work. */
const ALL_AT_ONCE = 0.1;
const WORK_SHARE = 0.03;
/** A failed run has had its tick; those that the hold after it passes over are written down. */
const FAILED_SHARE = 0.05;
/** A schedule that is broken fails for a week: only after several failures in a row a hold is long enough to pass over a tick. */
const BROKEN_WEEKS = 0.4;
const LEASE = 300_000;

interface Fates {
  readonly random: Random;
  /** All runs of these fail. */
  readonly broken: Set<string>;
  failed: number;
  /** How often each tick of each schedule was run to its end. */
  readonly ran: Map<string, Map<number, number>>;
  readonly missed: Map<string, Map<number, Missed>>;
}

/** A row of ticks that did not fire. */
interface Missed {
  readonly untilAt: number;
  readonly n: number;
  /** They fell into the hold after a failure, at whose end the schedule runs once. */
  readonly held: boolean;
}

/** A year of many schedules on an injected clock: three engines, one store, deaths and outages, judged by an oracle. */
export async function proveYear({ schedules, days, seed }: YearOptions): Promise<ProofReport> {
  const startedMs = performance.now();
  const random = seeded(seed);
  let now = START;
  const clock = { now: () => now, after: () => () => undefined };
  const store = openSqlite({ file: ':memory:', identity: 'year' });
  const engines = new Mortals(store, clock, random, 3, DEATHS_PER_TRANSACTION);
  const rules = await plant(engines, random, schedules);
  const fates: Fates = { random, broken: new Set(), failed: 0, ran: new Map(), missed: new Map() };
  const end = START + days * DAY;
  let tidyAt = START + 7 * DAY;
  let outages = 0;
  while (now < end) {
    const due = (await store.read.schedules.nextAt()) ?? end;
    const outage = random.chance((OUTAGES_A_DAY * (due - now)) / DAY);
    outages += outage ? 1 : 0;
    // Timers are a little late, and sometimes nobody is there for hours or days.
    now = Math.min(end, Math.max(now, due) + random.int(5_000) + (outage ? random.int(2 * DAY) : 0));
    const fire = (engine: OpenEngine): Promise<number> => fireDue(engine.core, 100);
    await (random.chance(ALL_AT_ONCE) ? engines.all(fire) : engines.one(fire));
    if (random.chance(WORK_SHARE)) await work(engines, fates);
    if (now < tidyAt) continue;
    await tidy(store, engines, fates, rules);
    tidyAt = now + 7 * DAY;
    fates.broken.clear();
    for (const id of rules.keys()) if (random.chance(BROKEN_WEEKS)) fates.broken.add(id);
  }
  // What dying claimers held comes back after their lease; ticks that were due before the end are still fired.
  for (let pass = 0; pass < 20; pass++) {
    now += LEASE;
    await engines.all((engine) => fireDue(engine.core, 100));
    await work(engines, fates);
  }
  await tidy(store, engines, fates, rules);
  const judged = judge(rules, fates, now);
  await store.close();
  const counts = {
    schedules,
    days,
    ticks: judged.ticks,
    ran: judged.ran,
    missed: judged.missed,
    failed: fates.failed,
    putOff: judged.putOff,
    deaths: engines.deaths,
    outages,
  };
  return report({
    proof: 'year',
    store: 'sqlite',
    startedMs,
    counts,
    violations: judged.violations,
    summary: `${judged.ticks} ticks of ${schedules} schedules: ${judged.ran} ran once, ${fates.failed} of them failed, ${judged.putOff} after a hold, ${judged.missed} written down as missed; ${engines.deaths} deaths, ${outages} outages, seed ${seed}`,
  });
}

async function plant(engines: Mortals, random: Random, count: number): Promise<Map<string, Rule>> {
  const rules = new Map<string, Rule>();
  while (rules.size < count) {
    const rule = randomRule(random);
    const draft = {
      name: `schedule ${rules.size}`,
      session_target: 'queue',
      schedule: cronOf(rule),
      timezone: rule.zone,
      catch_up: random.pick(['skip', 'once', 'all']),
      overlap_policy: random.pick(['allow', 'queue']),
      catch_up_max: 5,
      max_queued_dispatches: 1_000,
    };
    await engines.one(async (engine) => rules.set((await engine.schedules.create(HEAD, draft)).id, rule));
  }
  return rules;
}

/** Does what is ready, and reacts to what ended, until nothing moves. Whoever dies leaves it to the others. */
async function work(engines: Mortals, fates: Fates): Promise<void> {
  for (let idle = 0; idle < 2; ) {
    let moved = 0;
    await engines.all(async (engine) => {
      const { leases, core } = engine;
      // Whose claimer died comes back with its attempt, as the jobs of the built-in worker do.
      const asked = { targets: ['any'], max: 100, waitMs: 0, leaseMs: LEASE, policy: 'adopt' } as const;
      const jobs = await leases.claimNext(WORKER, asked);
      await Promise.all(jobs.map((claimed) => finish(engine, claimed, fates)));
      const lost = await core.store.read.leases.expired(core.now(), 100);
      await Promise.all(lost.map((id) => core.perform({ kind: 'expire', id, actor: SYSTEM })));
      moved += jobs.length + lost.length + (await settler(core).runOnce()).done;
    });
    idle = moved === 0 ? idle + 1 : 0;
  }
}

/** A worker that hears nothing asks again: its answer is the same. */
async function finish(engine: OpenEngine, { job, input }: ClaimedJob, fates: Fates): Promise<void> {
  const fails = fates.broken.has(job.scheduleId ?? '') || fates.random.chance(FAILED_SHARE);
  fates.failed += fails ? 1 : 0;
  for (let tries = 0; tries < 20; tries++) {
    try {
      if (fails) await engine.leases.fail(WORKER, job.id, job.leaseToken, 'broken', true);
      else await engine.leases.complete(WORKER, job.id, job.leaseToken, 'ok');
      break;
    } catch (error) {
      if (!(error instanceof Death)) throw error;
    }
  }
  const { dueAt } = JSON.parse(input?.meta ?? '{}') as RunPlan;
  const ran = fates.ran.get(job.scheduleId ?? '') ?? new Map<number, number>();
  fates.ran.set(job.scheduleId ?? '', ran.set(dueAt ?? 0, (ran.get(dueAt ?? 0) ?? 0) + 1));
}

/** Keeps what was missed, and forgets jobs that are long done, so that a year fits into memory. */
async function tidy(
  store: Store,
  engines: Mortals,
  fates: Fates,
  rules: ReadonlyMap<string, Rule>,
): Promise<void> {
  for (const id of rules.keys()) {
    const known = fates.missed.get(id) ?? new Map<number, Missed>();
    for (const { at, untilAt, n, reason } of await store.read.ticks.missed(id, 1_000))
      known.set(at, { untilAt, n, held: reason?.startsWith('held back') === true });
    fates.missed.set(id, known);
  }
  await engines.one(async (engine) => {
    const pruner = new Pruner(engine.core, {
      everyMs: 60_000,
      retentionMs: DAY,
      forget: async () => undefined,
    });
    for (let pass = 0; pass < 200 && (await pruner.runOnce()).more; pass++);
  });
}

function judge(rules: ReadonlyMap<string, Rule>, fates: Fates, end: number) {
  const walls = new Map<string, WallClock>();
  const violations: string[] = [];
  let [ticks, ran, missed, putOff] = [0, 0, 0, 0];
  for (const [id, rule] of rules) {
    const wall = walls.get(rule.zone) ?? new WallClock(rule.zone, START - DAY, end + DAY);
    walls.set(rule.zone, wall);
    const expected = expectedTicks(rule, wall, START, Math.floor(end / MINUTE) * MINUTE);
    const done = fates.ran.get(id) ?? new Map<number, number>();
    const said = missedAmong([...expected], fates.missed.get(id) ?? new Map());
    const what = (at: number): string => `${cronOf(rule)} ${rule.zone} at ${new Date(at).toISOString()}`;
    for (const at of expected) {
      const times = done.get(at) ?? 0;
      if (times > 1) violations.push(`${what(at)} ran ${times} times`);
      if (times === 0 && !said.ticks.has(at)) violations.push(`${what(at)} neither ran nor was written down`);
      if (times > 0 && said.ticks.has(at)) violations.push(`${what(at)} ran and was written down as missed`);
      ticks += 1;
      ran += times > 0 ? 1 : 0;
      missed += said.ticks.has(at) ? 1 : 0;
    }
    const rows = [...(fates.missed.get(id)?.values() ?? [])];
    for (const at of done.keys()) {
      if (expected.has(at)) continue;
      if (endsHold(at, rows, expected)) putOff += 1;
      else violations.push(`${what(at)} ran, but was never due`);
    }
    violations.push(
      ...said.wrong.map((at) => `${what(at)} begins a row of missed ticks that counts wrongly`),
    );
  }
  return { violations, ticks, ran, missed, putOff };
}

/** Whether ticks were held back until then, and no other tick was between. */
function endsHold(at: number, rows: readonly Missed[], expected: ReadonlySet<number>): boolean {
  const since = rows.filter(({ held, untilAt }) => held && untilAt < at).map(({ untilAt }) => untilAt);
  const last = Math.max(...since);
  return Number.isFinite(last) && ![...expected].some((tick) => tick > last && tick < at);
}

function missedAmong(expected: readonly number[], rows: ReadonlyMap<number, Missed>) {
  const ticks = new Set<number>();
  const wrong: number[] = [];
  for (const [at, { untilAt, n, held }] of rows) {
    const covered = expected.filter((tick) => tick >= at && tick <= untilAt);
    // Where nobody was there, the end of a hold may be among them: it is no tick of the rule.
    const others = held || covered[0] === at ? 0 : 1;
    if (covered.length + others !== n) wrong.push(at);
    for (const tick of covered) ticks.add(tick);
  }
  return { ticks, wrong };
}
