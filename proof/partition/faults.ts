import { setTimeout as sleep } from 'node:timers/promises';
import type { CommitFault, Net, PostgresProxy } from '../../test/support/postgres-proxy.ts';
import type { TestServer } from '../../test/support/server.ts';

/** A server, and the network between it and the database. */
export interface Partitioned {
  readonly server: TestServer;
  readonly proxy: PostgresProxy;
  readonly net: (next: Net) => void;
  /** How many times as long as is promised everything may take: this machine has other work too. */
  readonly slower: number;
}

interface Struck {
  /** From the end of the fault to a server that is well. */
  readonly healMs: number;
  readonly problems: readonly string[];
}

interface Fault {
  readonly name: string;
  /** Breaks the network, looks what the server says about itself, and waits until it is well again. */
  strike(hit: Partitioned, moreMs: number): Promise<Struck>;
}

/** The server must have noticed by then, and be well again by then. */
const NOTICED_MS = 6_000;
const WELL_MS = 5_000;
const UP_MS = 1_000;
const COMMIT_COMES_MS = 5_000;
const LOOK_EVERY_MS = 50;

export const FAULTS: readonly Fault[] = [
  commitFault('unheard'),
  outage('silent'),
  commitFault('forgotten'),
  outage('cut'),
  { name: 'half-open', strike: halfOpen },
  outage('stalled'),
  commitFault('unsent'),
];

function outage(net: Net): Fault {
  return {
    name: net,
    strike: async (hit, moreMs) => {
      const problems: string[] = [];
      hit.net(net);
      const noticed = await within(
        NOTICED_MS * hit.slower,
        async () => (await readiness(hit)) === 'database',
      );
      if (noticed === null) problems.push(`/ready said ${await readiness(hit)} without a database`);
      problems.push(...(await whetherUp(hit)));
      await sleep(moreMs);
      hit.net('open');
      const healed = await untilWell(hit);
      return { healMs: healed.healMs, problems: [...problems, ...healed.problems] };
    },
  };
}

async function halfOpen(hit: Partitioned): Promise<Struck> {
  hit.proxy.halfOpenAll();
  return untilWell(hit);
}

function commitFault(fault: CommitFault): Fault {
  return {
    name: `commit ${fault}`,
    strike: async (hit) => {
      let happened = false;
      const broken = hit.proxy.breakCommit(fault).then(() => (happened = true));
      await Promise.race([broken, sleep(COMMIT_COMES_MS * hit.slower)]);
      hit.proxy.mendCommit();
      const healed = await untilWell(hit);
      const problems = happened ? [] : ['no commit came by'];
      return { healMs: healed.healMs, problems: [...problems, ...healed.problems] };
    },
  };
}

/** Well: it says so, and takes a job. */
async function untilWell(hit: Partitioned): Promise<Struck> {
  const problems = await whetherUp(hit);
  const wellMs = WELL_MS * hit.slower;
  const healMs = await within(
    wellMs,
    async () => (await readiness(hit)) === 'ready' && (await takesWork(hit)),
  );
  if (healMs === null)
    problems.push(`not well ${wellMs} ms after the net was, /ready says ${await readiness(hit)}`);
  return { healMs: healMs ?? wellMs, problems };
}

async function whetherUp({ server, slower }: Partitioned): Promise<string[]> {
  const startedMs = performance.now();
  const { status } = await server.anyone.get('/health');
  const tookMs = performance.now() - startedMs;
  return status === 200 && tookMs < UP_MS * slower
    ? []
    : [`/health answered ${status} after ${Math.round(tookMs)} ms`];
}

async function readiness({ server }: Partitioned): Promise<string> {
  const { status, body } = await server.anyone.get('/ready');
  return status === 200 ? 'ready' : String(body['reason']);
}

/** A write and a read; a pause of a target that nobody has changes nothing for the others. */
async function takesWork({ server }: Partitioned): Promise<boolean> {
  const written = await server.head.post('/targets/nobody/pause');
  const read = await server.head.get('/jobs?limit=1');
  return written.status === 200 && read.status === 200;
}

/** How long it took; null when it never came. */
async function within(limitMs: number, isSo: () => Promise<boolean>): Promise<number | null> {
  const startedMs = performance.now();
  while (performance.now() - startedMs < limitMs) {
    if (await isSo()) return performance.now() - startedMs;
    await sleep(LOOK_EVERY_MS);
  }
  return null;
}
