import { setTimeout as sleep } from 'node:timers/promises';
import { startServer, type TestServer } from '../test/support/server.ts';
import { type Attack, openAttackers, type Tally } from './abuse/attack.ts';
import { type Callers, type Met, workBeside } from './abuse/callers.ts';
import { prepare, WAYS } from './abuse/ways.ts';
import { percentile, rounded } from './measure.ts';
import { residentMb } from './process.ts';
import { type ProofReport, report } from './report.ts';
import type { ProofStore } from './stores.ts';

export interface AbuseOptions extends Callers {
  readonly connections: number;
  /** How long each way is tried. */
  readonly forMs: number;
  /** Only ways with this in their names; all where it is left out. */
  readonly way?: string;
  readonly limits: { readonly heartbeatP99Ms: number; readonly memoryMb: number };
}

interface Found {
  readonly way: string;
  readonly heartbeatP99Ms: number;
  readonly createP99Ms: number;
  readonly memoryMb: number;
  readonly answered: number;
  readonly refused: number;
  readonly lostLeases: number;
  readonly violations: readonly string[];
}

/** Whatever one principal does on as many connections as it likes, others go on with their work. */
export async function proveAbuse(store: ProofStore, options: AbuseOptions): Promise<ProofReport> {
  const startedMs = performance.now();
  await using server = await startServer({ ...store.server, reaperIntervalMs: 200 });
  await using attackers = openAttackers();
  const principals = await prepare(server, options.connections);
  // What the machine itself does to them, told beside the rest; it also warms the server up.
  const alone = await workBeside(server, options, () => sleep(options.forMs));
  const found: Found[] = [];
  const ways = Object.keys(WAYS).filter((way) => way.includes(options.way ?? ''));
  for (const way of ways) {
    const requests = (await WAYS[way]?.(principals)) ?? [];
    const { connections, forMs } = options;
    const attack = { port: server.port, connections, forMs, requests };
    found.push(await tryOne(server, way, attack, options, () => attackers.send(attack)));
  }
  const lostLeases = found.reduce((sum, each) => sum + each.lostLeases, 0);
  return report({
    proof: 'abuse',
    store: store.kind,
    summary: `${options.connections} connections beside ${options.workers} workers and ${options.creators} creators, ${lostLeases} leases lost: without them heartbeat p99 ${rounded(percentile(alone.heartbeatsMs, 0.99))} ms; ${found.map(inWords).join('; ')}`,
    counts: {
      lostLeases,
      ...Object.fromEntries(
        found.flatMap(({ way, heartbeatP99Ms, memoryMb, refused }) => [
          [`${way}: heartbeat p99 ms`, heartbeatP99Ms],
          [`${way}: MB`, memoryMb],
          [`${way}: 429`, refused],
        ]),
      ),
    },
    violations: found.flatMap(({ violations }) => violations),
    startedMs,
  });
}

async function tryOne(
  server: TestServer,
  way: string,
  attack: Attack,
  options: AbuseOptions,
  send: () => Promise<Tally>,
): Promise<Found> {
  const { limits } = options;
  const memory = watchMemory(server.pid);
  let tally: Tally = { answers: [], broken: 0 };
  const met = await workBeside(server, options, async () => {
    tally = await send();
  });
  const memoryMb = memory.peak();
  const heartbeatP99Ms = rounded(percentile(met.heartbeatsMs, 0.99));
  const violations = [
    ...met.lost,
    ...met.refused,
    ...(heartbeatP99Ms < limits.heartbeatP99Ms ? [] : [`heartbeats took ${heartbeatP99Ms} ms (p99)`]),
    ...(memoryMb < limits.memoryMb ? [] : [`the server took ${memoryMb} MB`]),
    ...unfit(met, attack, tally),
  ];
  return {
    way,
    heartbeatP99Ms,
    createP99Ms: rounded(percentile(met.createsMs, 0.99)),
    memoryMb,
    answered: answersIn(tally),
    refused: answersIn(tally, '429'),
    lostLeases: met.lost.length,
    violations: violations.map((violation) => `${way}: ${violation}`),
  };
}

/** An attack that never reached the server, has no effect, or breaks it, shows nothing. */
function unfit(met: Met, { requests, connections }: Attack, tally: Tally): string[] {
  const vain = requests.flatMap(({ text, status }, i) => {
    const answers = tally.answers[i] ?? {};
    if (status === null || answers[status] !== undefined) return [];
    return `${text.slice(0, text.indexOf(' HTTP'))} was never answered ${status}: ${JSON.stringify(answers)}`;
  });
  const all = answersIn(tally);
  const broken = tally.answers.flatMap((answers) =>
    Object.entries(answers).filter(([status]) => status >= '500'),
  );
  return [
    ...(met.heartbeatsMs.length === 0 ? ['no heartbeat was sent'] : []),
    ...(all < connections / 2 ? [`only ${all} attacks were answered`] : []),
    ...vain,
    ...broken.map(([status, count]) => `${count} attacks were answered ${status}`),
  ];
}

function answersIn({ answers }: Tally, only?: string): number {
  const counts = answers.flatMap((each) =>
    Object.entries(each).filter(([status]) => only === undefined || status === only),
  );
  return counts.reduce((sum, [, count]) => sum + count, 0);
}

function inWords({ way, heartbeatP99Ms, createP99Ms, memoryMb, answered, refused }: Found): string {
  return `${way} p99 ${heartbeatP99Ms} ms (creates ${createP99Ms}), ${memoryMb} MB, ${refused} of ${answered} refused`;
}

function watchMemory(pid: number): { peak: () => number } {
  let peakMb = residentMb(pid) ?? 0;
  const timer = setInterval(() => {
    peakMb = Math.max(peakMb, residentMb(pid) ?? 0);
  }, 100);
  return {
    peak: () => {
      clearInterval(timer);
      return peakMb;
    },
  };
}
