import { setTimeout as sleep } from 'node:timers/promises';
import { startServer, type TestServer } from '../test/support/server.ts';
import { Killer } from './feed/killer.ts';
import { FeedReader, type SeenEvent } from './feed/reader.ts';
import { costOfStalled } from './feed/stalled.ts';
import { writeJobs } from './feed/writer.ts';
import { seeded } from './random.ts';
import { type ProofReport, report } from './report.ts';
import type { ProofStore } from './stores.ts';

const WRITERS = 8;
const READERS = 6;
/** The last of the events may be behind a lost hint, which a sign of life mends every 15 seconds. */
const CAUGHT_UP_WITHIN_MS = 30_000;

export interface FeedOptions {
  readonly jobs: number;
  /** How many server processes share the store; more than one needs PostgreSQL, and then they are killed in turn. */
  readonly servers: number;
  readonly stalled: number;
  /** Of events that stalled readers leave unread. */
  readonly unreadMb: number;
  /** What all stalled readers together may cost the server. */
  readonly stalledLimitMb: number;
  /** How long the server is watched after its readers stall. */
  readonly settleMs: number;
  readonly seed: number;
}

/** Readers that are cut off at random see every event once and in the order of its job; stalled ones cost little. */
export async function proveFeed(store: ProofStore, options: FeedOptions): Promise<ProofReport> {
  const startedMs = performance.now();
  const followed = await follow(store, options);
  const stalled = await costOfStalled(store, options);
  const violations = [...followed.violations, ...stalled.violations];
  const worstMb = Math.max(stalled.oldMb, stalled.newMb);
  if (worstMb >= options.stalledLimitMb)
    violations.push(`${options.stalled} stalled readers took ${worstMb} MB`);
  return report({
    proof: 'feed',
    store: store.kind,
    summary:
      `${followed.events} events of ${options.jobs} jobs by ${WRITERS} writers over ${options.servers} server(s) with seed ${options.seed}, ` +
      `${READERS} readers cut off ${followed.cuts} times, servers killed ${followed.kills} times; ` +
      `${options.stalled} stalled readers take ${stalled.newMb} MB of new events and ${stalled.oldMb} MB of old ones`,
    counts: {
      events: followed.events,
      cuts: followed.cuts,
      kills: followed.kills,
      seed: options.seed,
      stalledOldMb: stalled.oldMb,
      stalledNewMb: stalled.newMb,
    },
    violations,
    startedMs,
  });
}

async function follow(
  store: ProofStore,
  options: FeedOptions,
): Promise<{ events: number; cuts: number; kills: number; violations: string[] }> {
  await using stack = new AsyncDisposableStack();
  const starts = Array.from({ length: options.servers }, () => startServer(store.server));
  const servers = (await Promise.all(starts)).map((server) => stack.use(server));
  const [first] = servers;
  if (first === undefined) throw new Error('the feed needs at least one server');
  const random = seeded(options.seed);
  const readers = Array.from({ length: READERS }, () => new FeedReader(servers, seeded(random.int(2 ** 32))));
  const following = readers.map((reader) => reader.follow());
  const killer = new Killer(servers, seeded(random.int(2 ** 32)));
  const haunting = options.servers > 1 ? killer.haunt() : Promise.resolve();
  const violations: string[] = [];
  const written = await Promise.all(
    Array.from({ length: WRITERS }, () =>
      writeJobs(servers, seeded(random.int(2 ** 32)), Math.ceil(options.jobs / WRITERS), (what) =>
        violations.push(what),
      ),
    ),
  );
  killer.stop();
  await haunting;
  const expected = await eventsOf(first, written.flat());
  const endsMs = performance.now() + CAUGHT_UP_WITHIN_MS;
  while (readers.some((reader) => reader.seen < expected.size) && performance.now() < endsMs) await sleep(20);
  for (const reader of readers) reader.stop();
  await Promise.all(following);
  for (const reader of readers) violations.push(...reader.violations, ...differences(expected, reader.types));
  const cuts = readers.reduce((sum, reader) => sum + reader.cuts, 0);
  return { events: expected.size, cuts, kills: killer.kills, violations };
}

/** The truth about each job, as its own history tells it. */
async function eventsOf(server: TestServer, ids: readonly string[]): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const id of ids) {
    const { events } = (await server.head.get<{ events: SeenEvent[] }>(`/jobs/${id}/events?limit=1000`)).body;
    for (const { seq, type } of events) found.set(`${id} ${seq}`, type);
  }
  return found;
}

function differences(expected: ReadonlyMap<string, string>, seen: ReadonlyMap<string, string>): string[] {
  const lost = [...expected].filter(([event, type]) => seen.get(event) !== type);
  const invented = [...seen.keys()].filter((event) => !expected.has(event));
  return [
    ...lost.map(([event, type]) => `a reader saw ${seen.get(event) ?? 'nothing'} for ${type} ${event}`),
    ...invented.map((event) => `a reader saw ${event}, which is in no history`),
  ];
}
