import { isDeepStrictEqual } from 'node:util';
import { checkAnswer, type Description, description, operations } from '../test/http/description.ts';
import { NoAnswer, type JobBody } from '../test/support/http.ts';
import { startServer, type TestServer } from '../test/support/server.ts';
import { aimOfBot, type Known, knownToBots, logIn, type Logins } from './openapi-fuzz/logins.ts';
import { makeRequest } from './openapi-fuzz/requests.ts';
import { type Random, seeded } from './random.ts';
import { type ProofReport, report } from './report.ts';
import type { ProofStore } from './stores.ts';

const LANES = 8;
const SLICE = 400;
const AIMS = 20;
/** Where people and bots log in; no other token is taken there. */
const BEHIND_LOGINS = '/api/v1/';
const LONG_LEASE_MS = 3_600_000;

export interface OpenApiFuzzOptions {
  readonly requests: number;
  readonly seed: number;
}

/** A job to aim at. While it is held, its run may speak for itself. */
interface Aim {
  readonly id: string;
  readonly no: unknown;
  readonly leaseToken?: string;
  /** A file of this job. */
  readonly blob?: string;
  /** A schedule, and a run of it that waits for approval. */
  readonly schedule: string;
  readonly run: string;
  /** A task at the door of bots, and what hangs on it. */
  readonly task: Known;
}

interface Found {
  readonly violations: string[];
  readonly statuses: Map<number, number>;
  readonly succeeded: Set<string>;
}

/** Requests made from the description, right and slightly wrong: every answer is one that the description promises. */
export async function proveOpenApiFuzz(
  store: ProofStore,
  { requests, seed }: OpenApiFuzzOptions,
): Promise<ProofReport> {
  const startedMs = performance.now();
  await using server = await startServer({ ...store.server, logLevel: 'error' });
  const pid = server.pid;
  const random = seeded(seed);
  const found: Found = { violations: [], statuses: new Map(), succeeded: new Set() };
  const served = (await server.anyone.get<Description>('/openapi.json')).body;
  // Answers are checked by the one, so the other must say the same.
  if (!isDeepStrictEqual([served.paths, served.components], [description.paths, description.components]))
    found.violations.push('GET /openapi.json is not what the sources describe');
  const viewer = await makeViewer(server);
  using logins = await logIn(server);
  let sent = 0;
  while (sent < requests && server.running) {
    const slice = Math.min(SLICE, requests - sent);
    const aims = await makeAims(server, logins);
    let left = slice;
    const lane = async (): Promise<void> => {
      while (left-- > 0) await sendOne(server, served, random, aims, { viewer, logins }, found);
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    sent += slice;
  }
  if (!server.running || server.pid !== pid) found.violations.push('the server ended');
  const shown = [...found.statuses]
    .toSorted(([a], [b]) => a - b)
    .map(([status, count]) => `${status}:${count}`);
  const missed = operations.filter(({ operationId }) => !found.succeeded.has(operationId));
  return report({
    proof: 'openapi-fuzz',
    store: store.kind,
    summary:
      `${sent} requests made from the description with seed ${seed}, statuses ${shown.join(' ')}, ` +
      `${operations.length - missed.length} of ${operations.length} operations succeeded` +
      (missed.length === 0 ? '' : ` (not ${missed.map(({ operationId }) => operationId).join(', ')})`),
    counts: { requests: sent, seed, succeeded: found.succeeded.size },
    violations: found.violations,
    startedMs,
  });
}

async function sendOne(
  server: TestServer,
  served: Description,
  random: Random,
  aims: readonly Aim[],
  { viewer, logins }: { readonly viewer: string; readonly logins: Logins },
  { violations, statuses, succeeded }: Found,
): Promise<void> {
  const operation = random.pick(operations);
  const aim = random.pick(aims);
  const role = random.pick(['head', 'head', 'head', 'worker', 'worker', 'worker', 'viewer', 'run', 'nobody']);
  const isBehindLogins = operation.path.startsWith(BEHIND_LOGINS);
  const token = isBehindLogins ? logins.tokens[role as 'head'] : tokenOf(role, server, aim, viewer);
  const known = isBehindLogins
    ? knownToBots(logins, aim.task, operation.path)
    : knownAround(aim, operation.path);
  const made = makeRequest(operation, served, random, known);
  const call = `${made.method} ${made.path.slice(0, 200)} as ${role} with ${made.body?.slice(0, 300) ?? 'no body'}`;
  try {
    const answer = await server.anyone.request(made.method, made.path, {
      headers: { ...made.headers, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
      ...(made.body === undefined ? {} : { raw: made.body }),
      timeoutMs: 15_000,
    });
    const { status } = answer;
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    if (status < 300) succeeded.add(operation.operationId);
    if (status >= 500) violations.push(`${call}: answered ${status} ${answer.text.slice(0, 300)}`);
    const mayCall = operation['x-roles']?.includes(role) ?? true;
    if (status < 300 && !mayCall) violations.push(`${call}: answered ${status}, which is not for this role`);
    const contentType = answer.headers['content-type'] ?? '';
    checkAnswer(made.method, made.path, { status, contentType, body: answer.body });
  } catch (problem) {
    if (problem instanceof NoAnswer) statuses.set(0, (statuses.get(0) ?? 0) + 1);
    violations.push(`${call}: ${problem instanceof Error ? problem.message.slice(0, 600) : String(problem)}`);
  }
}

function tokenOf(role: string, server: TestServer, aim: Aim, viewer: string): string | undefined {
  if (role === 'head') return server.tokens.head;
  if (role === 'worker') return server.tokens.left;
  if (role === 'viewer') return viewer;
  return role === 'run' ? `run.${aim.id}.${aim.leaseToken ?? 'none'}` : undefined;
}

function knownAround(
  { id, no, leaseToken = 'none', blob = 'none', schedule, run }: Aim,
  path: string,
): Record<string, readonly unknown[]> {
  const names = ['left-claw', 'any', 'builds', 'review', 'nightly'];
  return {
    id: path.startsWith('/blobs')
      ? [blob]
      : path.startsWith('/schedules')
        ? [schedule, schedule, schedule.slice(0, 30)]
        : /^\/(runs|approvals)/.test(path)
          ? [run, run, id]
          : [id, id, String(no)],
    parent_id: [schedule],
    job_id: [schedule],
    schedule_cron: ['0 2 * * *', '* * * * * *'],
    schedule_tz: ['UTC', 'Europe/Stockholm'],
    session_target: ['queue', 'isolated'],
    body: [{ name: 'child', payload_message: 'x' }, 'no JSON'],
    jobId: [id],
    job: [id],
    parentId: [id],
    after: [id, '0', '3.0'],
    leaseToken: [leaseToken],
    'X-Lease-Token': [leaseToken],
    target: names.slice(0, 2),
    targets: [names.slice(0, 2), ['left-claw']],
    name: names,
    // Not those that speak here.
    token: names.slice(2),
    type: ['review', 'build', 'job.created'],
    pool: ['builds'],
    'Last-Event-ID': ['0', '5.0'],
    waitMs: [0, 1, 20],
    paramsSchema: [{ type: 'object', properties: { a: { type: 'integer' } } }, {}, true],
  };
}

async function makeViewer(server: TestServer): Promise<string> {
  const made = await server.head.post<{ token: string }>('/tokens', { name: 'fuzz-viewer', role: 'viewer' });
  return made.body.token;
}

async function makeAims(server: TestServer, logins: Logins): Promise<Aim[]> {
  // Whatever was paused meanwhile goes on, or nothing could be claimed any more.
  for (const paused of ['targets/left-claw', 'targets/any', 'types/review', 'types/crawl', 'doors/clawdbot'])
    await server.head.post(`/${paused}/resume`, {});
  const jobs = Array.from({ length: AIMS }, (_, index) => ({
    target: 'left-claw',
    maxAttempts: index % 5 === 0 ? 1 : 100,
  }));
  const made = await server.head.post<{ jobs: JobBody[] }>('/jobs/batch', { jobs });
  return Promise.all(
    made.body.jobs.map(async ({ id, no }, index) =>
      makeAim(
        server,
        { id, no, ...(await makeSchedule(server, index)), task: await aimOfBot(logins, index) },
        index,
      ),
    ),
  );
}

/** One that any worker serves; its run waits for somebody's word. */
async function makeSchedule(server: TestServer, index: number): Promise<Pick<Aim, 'schedule' | 'run'>> {
  const fields = { schedule_kind: 'manual', session_target: 'queue', approval_required: true };
  const made = await server.head.post<JobBody>('/schedules', { name: `Aim ${index}`, ...fields });
  const started = await server.head.post<{ run_id: string }>(`/schedules/${made.body.id}/run`);
  return { schedule: made.body.id, run: started.body.run_id };
}

/** Some wait, some are held with a file each, and some are dead. */
async function makeAim(server: TestServer, aim: Aim, index: number): Promise<Aim> {
  if (index % 3 === 1) return aim;
  const claimed = await server.left.post<JobBody>(`/jobs/${aim.id}/claim`, { leaseMs: LONG_LEASE_MS });
  const { leaseToken } = claimed.body;
  if (leaseToken === undefined) return aim;
  if (index % 5 === 0) {
    await server.left.post(`/jobs/${aim.id}/fail`, { leaseToken, requeue: true });
    return aim;
  }
  const upload = `--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n${index}\r\n--x--\r\n`;
  const headers = { 'content-type': 'multipart/form-data; boundary=x', 'x-lease-token': leaseToken };
  const blob = await server.left.request<JobBody>('POST', `/jobs/${aim.id}/blobs`, { headers, raw: upload });
  return { ...aim, leaseToken, blob: blob.body.id };
}
