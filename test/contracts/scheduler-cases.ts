import { ok, strictEqual } from 'node:assert';
import { after, before } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HttpClient, JobBody } from '../support/http.ts';
import type { ServerOptions, TestServer } from '../support/server.ts';
import { expectStatus } from './spine-cases.ts';

export interface SchedulerServer extends TestServer {
  /** Asks the database itself, as people do who know SQL. */
  query(sql: string): Promise<Record<string, unknown>[]>;
}
export type StartScheduler = (options?: ServerOptions) => Promise<SchedulerServer>;

/** What hangs on the clock is looked at often, so that no test waits for the ten seconds of the safety net. */
export const OFTEN = { env: { SCHEDULER_TICK_MS: '200', SCHEDULER_MESSAGE_DELIVERY_MS: '200' } };

/** One server for all tests of the suite that calls this, or without options for all suites of the contract. */
export function sharedScheduler(start: StartScheduler, options?: ServerOptions): () => SchedulerServer {
  let server: SchedulerServer | undefined;
  before(async () => {
    server = await start(options);
  });
  after(() => server?.stop());
  return () => {
    if (!server) throw new Error('the server is there only while tests run');
    return server;
  };
}

export type Body = Readonly<Record<string, unknown>>;
export interface ScheduleBody extends Body {
  readonly id: string;
  readonly name: string;
  readonly enabled: boolean;
  readonly next_run_at: string | null;
}
export interface RunBody extends Body {
  readonly id: string;
  readonly job_id: string;
  readonly status: string;
  readonly kind: string;
}

let made = 0;

/** A schedule whose runs only this test claims: they are of a type of its own. */
export async function queueSchedule(
  { head }: Pick<TestServer, 'head'>,
  fields: object = {},
): Promise<ScheduleBody & { readonly type: string }> {
  const type = `type-${++made}`;
  const trigger = 'parent_id' in fields || 'schedule' in fields ? {} : { schedule_kind: 'manual' };
  const body = {
    name: `Schedule ${made}`,
    session_target: 'queue',
    type,
    max_retries: 0,
    ...trigger,
    ...fields,
  };
  return expectStatus(await head.post<ScheduleBody & { type: string }>('/schedules', body), 201);
}

export async function runNow({ head }: Pick<TestServer, 'head'>, id: string): Promise<string> {
  return expectStatus(await head.post<{ run_id: string }>(`/schedules/${id}/run`), 202).run_id;
}

export interface Claimed extends JobBody {
  readonly leaseToken: string;
}

/** The next run of this type, waited for. */
export async function claim({ left }: Pick<TestServer, 'left'>, type: string): Promise<Claimed> {
  const body = { types: [type], waitMs: 25_000 };
  const { jobs } = expectStatus(await left.post<{ jobs: Claimed[] }>('/jobs/claim', body), 200);
  const [job] = jobs;
  ok(job, `no run of ${type} came`);
  return job;
}

export async function complete({ left }: TestServer, job: Claimed, result: unknown = 'done'): Promise<void> {
  expectStatus(await left.post(`/jobs/${job.id}/complete`, { result, leaseToken: job.leaseToken }), 200);
}

export async function fail(
  { left }: TestServer,
  job: Claimed,
  body: object = { error: 'broken' },
): Promise<void> {
  expectStatus(await left.post(`/jobs/${job.id}/fail`, { ...body, leaseToken: job.leaseToken }), 200);
}

/** Runs it by hand and ends the run well. */
export async function runWell(
  server: SchedulerServer,
  schedule: { readonly id: string; readonly type: string },
  result?: unknown,
): Promise<string> {
  await runNow(server, schedule.id);
  const job = await claim(server, schedule.type);
  await complete(server, job, result);
  return job.id;
}

export async function readRun(client: HttpClient, id: string): Promise<RunBody> {
  return expectStatus(await client.get<RunBody>(`/runs/${id}`), 200);
}

export async function runsOf({ head }: Pick<TestServer, 'head'>, id: string): Promise<readonly RunBody[]> {
  return expectStatus(await head.get<{ runs: RunBody[] }>(`/schedules/${id}/runs`), 200).runs;
}

export async function readSchedule({ head }: Pick<TestServer, 'head'>, id: string): Promise<ScheduleBody> {
  return expectStatus(await head.get<ScheduleBody>(`/schedules/${id}`), 200);
}

/** Looks until it is so: what follows the end of a run comes a moment after the answer. */
export async function until<T>(look: () => Promise<T>, isSo: (seen: T) => boolean, what: string): Promise<T> {
  const startedMs = performance.now();
  for (;;) {
    const seen = await look();
    if (isSo(seen)) return seen;
    ok(performance.now() - startedMs < 45_000, `${what}: ${JSON.stringify(seen)}`);
    await sleep(20);
  }
}

/** The run's status when it is this one. */
export function untilStatus(server: TestServer, id: string, status: string): Promise<RunBody> {
  return until(
    () => readRun(server.head, id),
    (run) => run.status === status,
    `run is not ${status}`,
  );
}

export function patch(client: HttpClient, path: string, body: unknown) {
  return client.request('PATCH', path, { body });
}

export function expectIds(list: readonly { id: string }[], ids: readonly string[]): void {
  strictEqual(list.map(({ id }) => id).join(), ids.join());
}
