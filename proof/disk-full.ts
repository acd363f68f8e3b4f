import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, type JobBody, NoAnswer } from '../test/support/http.ts';
import { startServer, type TestServer } from '../test/support/server.ts';
import { type SmallDisk, smallDisk } from './disk-full/disk.ts';
import { type ProofReport, report } from './report.ts';

const JOBS_BEFORE = 20;
const HELD = 3;
const TRIES_WHILE_FULL = 200;
const ENOUGH_REFUSALS = 10;
const RECOVER_WITHIN_MS = 5_000;
const LONG_LEASE_MS = 600_000;
const LARGE = 'x'.repeat(4_096);

/** How each cycle ends, in turn: space comes back by itself, or the server is ended while there is none. */
const ENDINGS = ['freed', 'killed', 'stopped'] as const;

interface Found {
  readonly acknowledged: string[];
  readonly violations: string[];
  refused: number;
}

/** Fills the disk under servers again and again. Gives the reason when no disk can be filled here. */
export async function proveDiskFull({ cycles }: { readonly cycles: number }): Promise<ProofReport | string> {
  const startedMs = performance.now();
  const found: Found = { acknowledged: [], violations: [], refused: 0 };
  let how = '';
  let acknowledged = 0;
  for (let done = 0; done < cycles; done += ENDINGS.length) {
    // A new disk now and then: a log that has grown has room of its own, and would take long to be full.
    await using disk = openDisk();
    if (disk.reason !== null) return disk.reason;
    how = disk.small.how;
    await fillAgainAndAgain(disk.small, ENDINGS.slice(0, cycles - done), found);
    acknowledged += found.acknowledged.splice(0).length;
  }
  return report({
    proof: 'disk-full',
    store: 'sqlite',
    summary: `${cycles} times full (${how}), ${acknowledged} jobs acknowledged, ${found.refused} writes refused with 507 or 503`,
    counts: { cycles, acknowledged, refused: found.refused },
    violations: found.violations,
    startedMs,
  });
}

type OpenDisk = AsyncDisposable &
  ({ readonly reason: null; readonly small: SmallDisk } | { readonly reason: string });

function openDisk(): OpenDisk {
  const small = smallDisk();
  if (typeof small === 'string') return { reason: small, [Symbol.asyncDispose]: () => Promise.resolve() };
  return { reason: null, small, [Symbol.asyncDispose]: async () => small[Symbol.asyncDispose]() };
}

async function fillAgainAndAgain(
  disk: SmallDisk,
  endings: readonly (typeof ENDINGS)[number][],
  found: Found,
): Promise<void> {
  await using server = await startServer({
    dataDir: disk.dir,
    leaseMs: LONG_LEASE_MS,
    logLevel: 'silent',
  });
  for (const ending of endings) {
    const held = await prepare(server, found);
    disk.fill(server.pid);
    await writeWhileFull(server, held, found);
    await readWhileFull(server, found);
    await end(server, disk, ending, found);
    await recover(server, held, found);
  }
  await readAll(server, found, 'afterwards');
}

async function prepare(server: TestServer, found: Found): Promise<JobBody[]> {
  for (let made = 0; made < JOBS_BEFORE; made++) await create(server, found);
  const claimed = await server.left.post<{ jobs: JobBody[] }>('/jobs/claim', { max: HELD });
  if (claimed.body.jobs?.length !== HELD)
    throw new Error(`the claim answered ${claimed.status} ${claimed.text}`);
  return claimed.body.jobs;
}

async function create(server: TestServer, found: Found): Promise<number> {
  const answer = await attempt(found, 'a create', () =>
    server.head.post<JobBody>('/jobs', { target: 'any', spec: { text: LARGE } }),
  );
  if (answer?.status === 201) found.acknowledged.push(answer.body.id);
  return answer?.status ?? 0;
}

/** Every write is done or refused as it should be: with 507, or with 503 where the cause is not told. */
async function attempt<T>(
  found: Found,
  what: string,
  send: () => Promise<Answer<T>>,
): Promise<Answer<T> | undefined> {
  try {
    const answer = await send();
    if (answer.status === 507 || answer.status === 503) found.refused++;
    else if (answer.status >= 300)
      found.violations.push(`${what} answered ${answer.status} ${answer.text.slice(0, 200)}`);
    return answer;
  } catch (problem) {
    if (!(problem instanceof NoAnswer)) throw problem;
    found.violations.push(`${what} got no answer: ${problem.message}`);
    return undefined;
  }
}

async function writeWhileFull(server: TestServer, held: readonly JobBody[], found: Found): Promise<void> {
  const before = found.refused;
  // The log may still have room of its own for a few.
  for (let tries = 0; tries < TRIES_WHILE_FULL && found.refused - before < ENOUGH_REFUSALS; tries++) {
    await create(server, found);
  }
  if (found.refused === before) found.violations.push('no create was refused while the disk was full');
  for (const { id, leaseToken } of held) {
    await attempt(found, 'a heartbeat', () => server.left.post(`/jobs/${id}/heartbeat`, { leaseToken }));
  }
  await attempt(found, 'a claim', () => server.right.post('/jobs/claim', { target: 'right-claw' }));
  await attempt(found, 'an upload', () => upload(server));
}

function upload(server: TestServer): Promise<Answer<unknown>> {
  const head = '--B\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n';
  const raw = Buffer.from(`${head}${'x'.repeat(200_000)}\r\n--B--\r\n`);
  return server.left.request('POST', '/blobs', {
    raw,
    headers: { 'content-type': 'multipart/form-data; boundary=B' },
  });
}

async function readWhileFull(server: TestServer, found: Found): Promise<void> {
  const health = await server.anyone.get('/health');
  if (health.status !== 200) found.violations.push(`health answered ${health.status} on a full disk`);
  const list = await server.head.get('/jobs?limit=100');
  if (list.status !== 200) found.violations.push(`the list answered ${list.status} on a full disk`);
  await readAll(server, found, 'on a full disk');
}

async function readAll(server: TestServer, found: Found, when: string): Promise<void> {
  for (const id of found.acknowledged) {
    const answer = await server.head.get<JobBody>(`/jobs/${id}`);
    if (answer.status === 200 && (answer.body.spec as { text?: string }).text === LARGE) continue;
    found.violations.push(`job ${id} answered ${answer.status} ${when}`);
  }
}

async function end(
  server: TestServer,
  disk: SmallDisk,
  ending: (typeof ENDINGS)[number],
  found: Found,
): Promise<void> {
  const { pid } = server;
  if (!server.running) found.violations.push('the server ended on a full disk');
  if (ending === 'freed') return disk.free(pid);
  if (ending === 'killed') await server.kill('SIGKILL');
  else {
    await server.kill('SIGTERM');
    if (server.exitCode !== 0)
      found.violations.push(`a stop on a full disk ended with exit code ${server.exitCode}`);
  }
  disk.free(server.running ? pid : process.pid);
  await server.restart();
}

/** Soon after there is space again everything works, and nobody has lost a lease. */
async function recover(server: TestServer, held: readonly JobBody[], found: Found): Promise<void> {
  const deadlineMs = performance.now() + RECOVER_WITHIN_MS;
  while ((await create(server, found)) !== 201) {
    if (performance.now() > deadlineMs) {
      found.violations.push(`writes were still refused ${RECOVER_WITHIN_MS} ms after there was space again`);
      return;
    }
    await sleep(50);
  }
  for (const { id, leaseToken } of held) {
    const done = await server.left.post(`/jobs/${id}/complete`, { leaseToken });
    if (done.status !== 200)
      found.violations.push(`a holder's complete answered ${done.status} ${done.text.slice(0, 200)}`);
  }
}
