import { setTimeout as sleep } from 'node:timers/promises';
import type { HttpClient, JobBody } from '../test/support/http.ts';
import { startServer } from '../test/support/server.ts';
import { percentile, rounded } from './measure.ts';
import { type ProofReport, report } from './report.ts';
import type { ProofStore } from './stores.ts';

const BATCH = 1_000;
/** Between two rounds of the one who works meanwhile. */
const PACE_MS = 5;
const ENDS_WITHIN_MS = 600_000;
const TAG = 'many';
const RARE = 'rare';
/** What a parent has created at most. */
const CHILDREN = 900;
const JOBS_PER_PARENT = 5_000;

export interface BulkOptions {
  readonly jobs: number;
  readonly limits: { readonly p99Ms: number };
}

interface Bulk {
  readonly id: string;
  readonly state: string;
  readonly count: number;
  readonly changed: number;
  readonly refused: number;
}

/** Verbs on many jobs tell how far they are, stop when they are told to, and nobody else waits for them. */
export async function proveBulk(store: ProofStore, { jobs, limits }: BulkOptions): Promise<ProofReport> {
  const startedMs = performance.now();
  await using server = await startServer(store.server);
  const { head, left: worker } = server;
  const violations: string[] = [];
  const must = (holds: boolean, what: string): void => {
    if (!holds) violations.push(what);
  };
  // Few among many: the first and the last of all.
  const makeRare = async (): Promise<void> =>
    must((await head.post('/jobs', { target: RARE })).status === 201, 'a job was refused');
  await makeRare();
  for (let made = 0; made < jobs; made += BATCH) {
    const some = Array.from({ length: Math.min(BATCH, jobs - made) }, () => ({
      target: 'many',
      tags: [TAG],
    }));
    const { status } = await head.post('/jobs/batch', { jobs: some });
    must(status === 201, `a batch was answered ${status}`);
  }
  await makeRare();
  const others = new Others(head, worker);
  const rates: string[] = [];
  const run = async (action: string, filter: object, expected: number): Promise<void> => {
    const dry = await head.post<Bulk>('/jobs/bulk', { action, filter, dryRun: true });
    must(dry.body.count === expected, `${action} would take ${dry.body.count} jobs, not ${expected}`);
    const fromMs = performance.now();
    const begun = await head.post<Bulk>('/jobs/bulk', { action, filter });
    const { looks, last } = await followed(head, begun.body.id);
    must(last.changed === expected, `${action} changed ${last.changed} of ${expected} jobs`);
    must(
      looks.every((n, i) => n >= (looks[i - 1] ?? 0)),
      `the progress of ${action} went back`,
    );
    must(expected < 500 || looks.length > 1, `${action} told of no progress`);
    rates.push(`${action} ${Math.round(expected / ((performance.now() - fromMs) / 1_000))}/s`);
  };
  await run('cancel', { target: RARE }, 2);
  await run('cancel', { tag: TAG, state: 'queued' }, jobs);
  await run('delete', { target: RARE }, 2);
  await run('retry', { tag: TAG }, jobs);
  const stopped = await head.post<Bulk>('/jobs/bulk', { action: 'cancel', filter: { tag: TAG } });
  await sleep(50);
  const cancelled = await head.post<Bulk>(`/bulks/${stopped.body.id}/cancel`, {});
  const { changed } = cancelled.body;
  must(cancelled.body.state === 'cancelled' || changed === jobs, 'it was not to be stopped');
  await run('cancel', { tag: TAG, state: 'queued' }, jobs - changed);
  await run('delete', { tag: TAG }, jobs);
  const parents = Math.max(2, Math.floor(jobs / JOBS_PER_PARENT));
  for (let made = 0; made < parents; made++)
    await makeFamily(head, Math.min(CHILDREN, Math.floor(jobs / 2)), must);
  await run('cancel', { tag: 'parent' }, parents);
  const left = await head.post<Bulk>('/jobs/bulk', {
    action: 'cancel',
    filter: { tag: 'child' },
    dryRun: true,
  });
  must(left.body.count === 0, `${left.body.count} children are left of cancelled parents`);
  await others.end();
  const left99 = rounded(percentile(others.tookMs, 0.99));
  must(others.failures === 0, `${others.failures} calls of others were refused`);
  must(left99 < limits.p99Ms, `others waited ${left99} ms (p99)`);
  return report({
    proof: 'bulk',
    store: store.kind,
    summary:
      `${jobs} jobs, ${parents} families: ${rates.join(', ')}; of ${others.tookMs.length} calls of others meanwhile ` +
      `p50 ${rounded(percentile(others.tookMs, 0.5))} ms, p99 ${left99} ms`,
    counts: { jobs, calls: others.tookMs.length, othersP99Ms: left99, stoppedAfter: changed },
    violations,
    startedMs,
  });
}

async function makeFamily(
  head: HttpClient,
  children: number,
  must: (holds: boolean, what: string) => void,
): Promise<void> {
  const parent = await head.post<JobBody>('/jobs', { target: 'many', tags: ['parent'] });
  const child = { target: 'many', tags: ['child'], parentId: parent.body.id };
  const { status } = await head.post('/jobs/batch', { jobs: Array.from({ length: children }, () => child) });
  must(status === 201, `the children of a job were answered ${status}`);
}

async function followed(head: HttpClient, id: string): Promise<{ looks: number[]; last: Bulk }> {
  const looks: number[] = [];
  for (const from = performance.now(); ; ) {
    const { body } = await head.get<Bulk>(`/bulks/${id}`);
    looks.push(body.changed + body.refused);
    if (body.state !== 'running') return { looks, last: body };
    if (performance.now() - from > ENDS_WITHIN_MS) throw new Error(`${id} does not end`);
    await sleep(20);
  }
}

/** Somebody who gives work, does it, and looks at what there is. */
class Others {
  readonly tookMs: number[] = [];
  failures = 0;
  #ended = false;
  readonly #running: Promise<void>;

  constructor(head: HttpClient, left: HttpClient) {
    this.#running = this.#run(head, left);
  }

  async end(): Promise<void> {
    this.#ended = true;
    await this.#running;
  }

  async #run(head: HttpClient, left: HttpClient): Promise<void> {
    while (!this.#ended) {
      const made = await this.#timed(() => head.post<JobBody>('/jobs', { target: 'left-claw' }));
      const taken = await this.#timed(() => left.post<JobBody>(`/jobs/${made.body.id}/claim`));
      const { leaseToken } = taken.body;
      await this.#timed(() => left.post(`/jobs/${made.body.id}/heartbeat`, { leaseToken }));
      await this.#timed(() => left.post(`/jobs/${made.body.id}/complete`, { leaseToken }));
      await this.#timed(() => head.get('/jobs?limit=20&order=newest'));
      await sleep(PACE_MS);
    }
  }

  async #timed<T extends { status: number }>(call: () => Promise<T>): Promise<T> {
    const from = performance.now();
    const answer = await call();
    this.tookMs.push(performance.now() - from);
    if (answer.status >= 300) this.failures++;
    return answer;
  }
}
