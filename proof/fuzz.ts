import type { JobBody } from '../test/support/http.ts';
import { startServer, type TestServer } from '../test/support/server.ts';
import { checkCanaries, checkRows, makeCanaries } from './fuzz/canaries.ts';
import { startProbe } from './fuzz/probe.ts';
import { type FuzzRequest, fuzzRequests } from './fuzz/requests.ts';
import { type Aim, type Heard, send } from './fuzz/send.ts';
import { percentile, rounded } from './measure.ts';
import { seeded } from './random.ts';
import { type ProofReport, report } from './report.ts';
import type { ProofStore } from './stores.ts';

const LANES = 8;
const AIMS = 40;
const LONG_LEASE_MS = 3_600_000;

export interface FuzzOptions {
  readonly requests: number;
  readonly seed: number;
}

/** Sends hostile requests of every kind: each is answered or refused in order, and nothing else is disturbed. */
export async function proveFuzz(store: ProofStore, { requests, seed }: FuzzOptions): Promise<ProofReport> {
  const startedMs = performance.now();
  await using server = await startServer({ ...store.server, logLevel: 'error' });
  const pid = server.pid;
  const random = seeded(seed);
  const canaries = await makeCanaries(server);
  const probe = startProbe(server);
  const violations: string[] = [];
  const statuses = new Map<number, number>();
  const plan = fuzzRequests(requests, random);
  let aims: Aim[] = [];
  // In slices, so that fresh jobs to aim at are there throughout.
  for (let start = 0; start < plan.length; start += 500) {
    aims = await makeAims(server);
    const slice = plan.slice(start, start + 500).map((request) => ({ request, aim: random.pick(aims) }));
    await inLanes(slice, async ({ request, aim }) => {
      const heard = await send(server, request, aim);
      statuses.set(heard.status, (statuses.get(heard.status) ?? 0) + 1);
      const wrong = judge(request, heard);
      if (wrong !== undefined) violations.push(`${request.method} ${request.about}: ${wrong}`);
    });
    if (!server.running) break;
  }
  const latencies = await probe.stop();
  if (!server.running || server.pid !== pid) violations.push('the server ended');
  else violations.push(...(await checkCanaries(server, canaries)), ...(await checkRows(server)));
  violations.push(...probe.failures);
  return report({
    proof: 'fuzz',
    store: store.kind,
    summary: `${plan.length} hostile requests with seed ${seed}, statuses ${showStatuses(statuses)}, health p99 ${rounded(percentile(latencies, 0.99))} ms`,
    counts: { requests: plan.length, seed, probes: latencies.length, hungUp: statuses.get(0) ?? 0 },
    violations,
    startedMs,
  });
}

function judge(request: FuzzRequest, heard: Heard): string | undefined {
  const { status, text, problem } = heard;
  if (problem !== undefined) return problem;
  if (status >= 500) return `answered ${status} ${text.slice(0, 200)}`;
  if (request.mustRefuse === true && status > 0 && status < 400) return `was accepted with ${status}`;
  if (status < 400 || request.method === 'HEAD') return undefined;
  // Node itself refuses what is no HTTP, and does so with no body or no chunk; other bodies come in their chunks.
  if (request.bytes !== undefined && (/^(0\r\n\r\n)?$/.test(text) || /"error" ?: ?"/.test(text)))
    return undefined;
  return hasErrorCode(text) ? undefined : `answered ${status} without an error code: ${text.slice(0, 200)}`;
}

function hasErrorCode(text: string): boolean {
  try {
    return typeof (JSON.parse(text) as { error?: unknown }).error === 'string';
  } catch {
    return false;
  }
}

async function inLanes<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  const lane = async (): Promise<void> => {
    for (const item of queue) await act(item);
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}

async function makeAims(server: TestServer): Promise<Aim[]> {
  const jobs = Array.from({ length: AIMS }, () => ({ target: 'left-claw', maxAttempts: 100 }));
  const made = await server.head.post<{ jobs: JobBody[] }>('/jobs/batch', { jobs });
  return Promise.all(
    made.body.jobs.map(async ({ id }, index) => {
      if (index % 2 === 0) return { id, token: 'none' };
      const claimed = await server.left.post<JobBody>(`/jobs/${id}/claim`, { leaseMs: LONG_LEASE_MS });
      return { id, token: claimed.body.leaseToken ?? 'none' };
    }),
  );
}

function showStatuses(statuses: ReadonlyMap<number, number>): string {
  return [...statuses]
    .toSorted(([a], [b]) => a - b)
    .map(([status, count]) => `${status || 'hung up'}:${count}`)
    .join(' ');
}
