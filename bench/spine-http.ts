/** Spine as users meet it: the server in a process of its own, over HTTP, on SQLite with `synchronous=FULL`. */

import { setTimeout as sleep } from 'node:timers/promises';
import { startServer, type TestServer } from '../test/support/server.ts';
import { type HttpCaller, httpCaller } from './http-caller.ts';
import type { Payload } from './measure.ts';
import type { Place, Queue } from './queue.ts';

const TARGET = 'left-claw';
/** Longer than the journal rests. */
const JOURNAL_PASS_MS = 500;
const NO_JOBS: readonly ClaimedBody[] = [];

/** What a worker needs of a job. */
interface ClaimedBody {
  readonly id: string;
  readonly leaseToken: string;
  readonly params: Payload;
}

interface Claimed {
  readonly jobs: readonly ClaimedBody[];
}

/** How a worker speaks: so many connections, so many jobs a call, and whether the end of one asks for the next. */
export interface Speaking {
  readonly connections: number;
  readonly max: number;
  readonly fused: boolean;
}

export const SINGLES: Speaking = { connections: 32, max: 1, fused: false };
export const FUSED: Speaking = { connections: 32, max: 1, fused: true };
export const HUNDREDS: Speaking = { connections: 8, max: 100, fused: false };
export const FUSED_HUNDREDS: Speaking = { connections: 8, max: 100, fused: true };

/** What the client library sends for a worker: it has no use for the job that it has just ended. */
const BRIEFLY = 'prefer: return=minimal\r\n';

/** Both roles, each with connections of its own. */
export interface Callers {
  readonly head: HttpCaller;
  readonly worker: HttpCaller;
}

export function callersOf({ url, tokens }: TestServer, connections: number): Callers {
  return {
    head: httpCaller(url, connections, tokens.head),
    worker: httpCaller(url, connections, tokens.left),
  };
}

export async function openSpineHttp(place: Place, speaking: Speaking): Promise<Queue> {
  const server = await startServer({ dataDir: place.folder });
  const callers = callersOf(server, speaking.connections);
  return {
    add: (input) => create(callers, input),
    addMany: (inputs) => createMany(callers, inputs),
    work: async (handle) => {
      const drained = Promise.all(
        Array.from({ length: speaking.connections }, () => workOff(callers, speaking, handle)),
      );
      return { stop: async () => void (await drained) };
    },
    left: async () => {
      const { queued, running } = await states(callers);
      return queued + running;
    },
    finished: async () => (await states(callers)).done,
    settled: () => journalWritten(callers),
    close: () => server.kill(),
  };
}

export async function create({ head }: Callers, input: Payload): Promise<string> {
  const { id } = await head.post<{ id: string }>('/jobs', { target: TARGET, params: input });
  return id;
}

export async function createMany({ head }: Callers, inputs: readonly Payload[]): Promise<void> {
  const jobs = inputs.map((params) => ({ target: TARGET, params }));
  await head.post('/jobs/batch', { jobs });
}

export async function claim({ worker }: Callers, max: number, waitMs = 0): Promise<readonly ClaimedBody[]> {
  const { jobs } = await worker.post<Claimed>('/jobs/claim', waitMs === 0 ? { max } : { max, waitMs });
  return jobs;
}

export async function complete({ worker }: Callers, { id, leaseToken }: ClaimedBody): Promise<void> {
  await worker.post(`/jobs/${id}/complete`, { leaseToken }, BRIEFLY);
}

interface Health {
  readonly files: { readonly on: boolean; readonly journal?: { readonly lagMs: number } };
}

/** As PostgreSQL has its checkpoint before the clock starts. The readable files lag by design and go on meanwhile. */
async function journalWritten({ head }: Callers): Promise<void> {
  const isBehind = async (): Promise<boolean> => {
    const { files } = await head.get<Health>('/health/details');
    return files.on && (files.journal?.lagMs ?? 0) > 0;
  };
  // A pass of the journal is due at least so often; before, it may not know yet that there is something to write.
  do await sleep(JOURNAL_PASS_MS);
  while (await isBehind());
}

interface States {
  readonly queued: number;
  readonly running: number;
  readonly done: number;
}

export async function states({ head }: Callers): Promise<States> {
  const { states } = await head.get<{ states: States }>('/stats');
  return states;
}

/** Works until nothing is left to claim. */
async function workOff(callers: Callers, speaking: Speaking, handle: (payload: Payload) => void) {
  let jobs = await claim(callers, speaking.max);
  while (jobs.length > 0) {
    for (const { params } of jobs) handle(params);
    const next = await finish(callers, speaking, jobs);
    jobs = next ?? (await claim(callers, speaking.max));
  }
}

/** Answers the next jobs when the end of these asked for them, else null. */
async function finish(
  callers: Callers,
  { max, fused }: Speaking,
  jobs: readonly ClaimedBody[],
): Promise<readonly ClaimedBody[] | null> {
  const [first] = jobs;
  if (first === undefined) return NO_JOBS;
  if (max > 1) return finishMany(callers, fused ? { max } : null, jobs);
  if (fused) {
    const { next } = await callers.worker.post<{ next: readonly ClaimedBody[] }>(
      `/jobs/${first.id}/complete`,
      { leaseToken: first.leaseToken, next: { max } },
      BRIEFLY,
    );
    return next;
  }
  await complete(callers, first);
  return null;
}

async function finishMany(
  { worker }: Callers,
  next: { readonly max: number } | null,
  jobs: readonly ClaimedBody[],
): Promise<readonly ClaimedBody[] | null> {
  const ends = jobs.map(({ id, leaseToken }) => ({ id, leaseToken }));
  const { results, next: claimed } = await worker.post<{
    results: readonly { ok: boolean }[];
    next?: readonly ClaimedBody[];
  }>('/jobs/complete-batch', { jobs: ends, ...(next && { next }) }, BRIEFLY);
  if (results.length !== jobs.length || !results.every(({ ok }) => ok))
    throw new Error('a job of a batch could not be completed');
  return claimed ?? null;
}
