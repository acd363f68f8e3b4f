/** Everything about jobs. Calls that the server does once however often they come are repeated after trouble. */

import type { Call, Caller, CallOptions } from './caller.ts';
import { sleep } from './platform.ts';
import type { NewQuestion } from './question-types.ts';
import { backoffMs } from './retry.ts';
import type {
  Artifact,
  AskedJob,
  AwaitedJob,
  BadEnd,
  BatchItem,
  BatchOutcome,
  Bulk,
  BulkAction,
  BulkFilter,
  Beat,
  ClaimedJob,
  ClaimNextOptions,
  ClaimOptions,
  EndedAndNext,
  EndedJob,
  FinishedBatch,
  Held,
  Job,
  Attempt,
  JobChange,
  JobEvent,
  JobFilter,
  JobPage,
  LogLine,
  NewJob,
  NewLogLine,
  NextClaim,
  Time,
} from './types.ts';

export interface CreateOptions extends CallOptions {
  /** Made anew for every call when not given. Give one that you have stored, to be safe across your own restarts. */
  readonly idempotencyKey?: string;
}

export interface WaitOptions extends Omit<CallOptions, 'timeoutMs'> {
  /** How long to wait in all; for as long as it takes unless said. */
  readonly waitMs?: number;
}

export interface PageFrom {
  /** Only what comes after this number. */
  readonly after?: number;
}

/** What may go with a heartbeat. */
export interface HeartbeatOptions {
  /** How far the work is: text or JSON. */
  readonly progress?: unknown;
  /** The lease is to last at least this long from now. */
  readonly leaseMs?: number;
  /** Ids of messages that have arrived. */
  readonly received?: readonly string[];
}

export interface LogAccepted {
  /** How many lines were taken. */
  readonly accepted: number;
  /** Whether to stop: somebody has cancelled the job. */
  readonly cancelRequested: boolean;
}

const PAGE = 1_000;

/** How long one call waits for the end of a job. */
const ONE_WAIT_MS = 30_000;
/** A server that restarts meanwhile is waited for. */
const PATIENT_RETRIES = 8;

export class Jobs {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** A create that had to be sent twice makes one job. */
  create(job: NewJob, options: CreateOptions = {}): Promise<Job> {
    return this.#caller.json(this.#creation('/jobs', job, options));
  }

  /** All of them or none. */
  async createBatch(jobs: readonly NewJob[], options: CreateOptions = {}): Promise<readonly Job[]> {
    const answer = await this.#caller.json<{ jobs: Job[] }>(this.#creation('/jobs/batch', { jobs }, options));
    return answer.jobs;
  }

  get(id: string, options?: CallOptions): Promise<Job> {
    return this.#caller.json({ method: 'GET', path: pathOf(id), repeatable: true, options });
  }

  /**
   * Waits until the job has ended for good. One that is retried by new jobs is answered as the last of them. When
   * `waitMs` is over first, it is answered as it is, with `ended` false.
   */
  async wait(id: string, { waitMs = Infinity, ...options }: WaitOptions = {}): Promise<AwaitedJob> {
    const { platform } = this.#caller;
    const until = platform.nowMs() + waitMs;
    for (let failures = 0; ; ) {
      const askedAt = platform.nowMs();
      const leftMs = Math.max(0, Math.min(ONE_WAIT_MS, until - askedAt));
      const job = await this.#caller.json<AwaitedJob>({
        method: 'GET',
        path: pathOf(id),
        query: { wait: `${Math.ceil(leftMs)}ms` },
        waitMs: leftMs,
        repeatable: true,
        options: { retries: PATIENT_RETRIES, ...options },
      });
      if (job.ended && job.lastOfLineage !== undefined)
        return { ...(await this.get(job.lastOfLineage, options)), ended: true };
      if (job.ended || platform.nowMs() >= until) return job;
      // A server that stops lets those who wait go early.
      failures = platform.nowMs() - askedAt < leftMs ? failures + 1 : 0;
      if (failures > 0) await sleep(platform, backoffMs(platform, failures), options.signal);
    }
  }

  /** Creates a job and waits until it has ended. */
  async run(
    job: NewJob,
    options: WaitOptions & Pick<CreateOptions, 'idempotencyKey'> = {},
  ): Promise<AwaitedJob> {
    const { id } = await this.create(job, options);
    return await this.wait(id, options);
  }

  /** All jobs that fit, page after page. */
  async *list(filter: JobFilter = {}, options?: CallOptions): AsyncGenerator<Job, void> {
    let cursor: string | undefined;
    do {
      const page = await this.listPage(filter, cursor, options);
      yield* page.jobs;
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
  }

  listPage(filter: JobFilter = {}, cursor?: string, options?: CallOptions): Promise<JobPage> {
    const query = { limit: 100, ...filter, cursor };
    return this.#caller.json({ method: 'GET', path: '/jobs', query, repeatable: true, options });
  }

  claim(id: string, claim: ClaimOptions = {}, options?: CallOptions): Promise<ClaimedJob> {
    return this.#caller.json({
      method: 'POST',
      path: `${pathOf(id)}/claim`,
      json: { claimId: this.#caller.platform.randomId(), ...claim },
      repeatable: true,
      options,
    });
  }

  /** The best ready jobs; none when the wait ended without one. */
  async claimNext(claim: ClaimNextOptions = {}, options?: CallOptions): Promise<readonly ClaimedJob[]> {
    const answer = await this.#caller.json<{ jobs: ClaimedJob[] }>({
      method: 'POST',
      path: '/jobs/claim',
      json: { claimId: this.#caller.platform.randomId(), ...claim },
      repeatable: true,
      waitMs: claim.waitMs,
      options,
    });
    return answer.jobs;
  }

  /**
   * Renews the lease. The answer says whether somebody asked for the job to stop. It counts as the proof that messages of
   * the last answer came, unless `received` names those that did.
   */
  heartbeat(held: Held, beat: HeartbeatOptions = {}, options?: CallOptions): Promise<Beat> {
    return this.#holder(held, 'heartbeat', beat, options);
  }

  /** With `next` the same call claims further jobs, in the same transaction. */
  complete(
    held: Held,
    end: { readonly result?: unknown; readonly next: NextClaim },
    options?: CallOptions,
  ): Promise<EndedAndNext>;
  complete(held: Held, end?: { readonly result?: unknown }, options?: CallOptions): Promise<EndedJob>;
  complete(
    held: Held,
    end: { readonly result?: unknown; readonly next?: NextClaim } = {},
    options?: CallOptions,
  ): Promise<EndedJob | EndedAndNext> {
    return this.#holder(held, 'complete', this.#named(end), options);
  }

  /** Ends a job without having it sent back, and answers the next ones, if it asked for any: what a worker needs. */
  async finish(
    held: Held,
    verb: 'complete' | 'fail',
    end: BadEnd & {
      readonly result?: unknown;
      readonly next?: NextClaim;
      readonly received?: readonly string[];
    },
    options?: CallOptions,
  ): Promise<readonly ClaimedJob[]> {
    const { id, leaseToken } = held;
    const answer = await this.#caller.json<{ next?: readonly ClaimedJob[] }>({
      ...post(
        id,
        verb,
        { ...this.#named(end), leaseToken },
        { repeatable: leaseToken !== undefined, options },
      ),
      headers: BRIEFLY,
    });
    return answer.next ?? [];
  }

  /** As `finish`, for many jobs at once: how each of them ended, and the next ones. */
  async finishBatch(
    items: readonly BatchItem[],
    end: { readonly next?: NextClaim } = {},
    options?: CallOptions,
  ): Promise<FinishedBatch> {
    const { next } = this.#named(end);
    const answer = await this.#caller.json<Partial<FinishedBatch> & Pick<FinishedBatch, 'results'>>({
      method: 'POST',
      path: '/jobs/complete-batch',
      json: { jobs: ends(items), ...(next && { next }) },
      headers: BRIEFLY,
      repeatable: items.every(({ leaseToken }) => leaseToken !== undefined),
      options,
    });
    return { results: answer.results, next: answer.next ?? [] };
  }

  /** Each item is judged by itself, and the answer says how. */
  async completeBatch(items: readonly BatchItem[], options?: CallOptions): Promise<readonly BatchOutcome[]> {
    const answer = await this.#caller.json<{ results: BatchOutcome[] }>({
      method: 'POST',
      path: '/jobs/complete-batch',
      json: { jobs: ends(items) },
      repeatable: items.every(({ leaseToken }) => leaseToken !== undefined),
      options,
    });
    return answer.results;
  }

  /** Queued again while attempts are left, unless `requeue` is false. */
  fail(held: Held, end: BadEnd & { readonly next: NextClaim }, options?: CallOptions): Promise<EndedAndNext>;
  fail(held: Held, end?: BadEnd, options?: CallOptions): Promise<EndedJob>;
  fail(
    held: Held,
    end: BadEnd & { readonly next?: NextClaim } = {},
    options?: CallOptions,
  ): Promise<EndedJob | EndedAndNext> {
    return this.#holder(held, 'fail', this.#named(end), options);
  }

  /** Gives the job back for somebody else. */
  release(
    held: Held,
    end: { readonly reason?: string; readonly received?: readonly string[] } = {},
    options?: CallOptions,
  ): Promise<EndedJob> {
    return this.#holder(held, 'release', end, options);
  }

  snooze(
    held: Held & { readonly received?: readonly string[] },
    untilAt: Time,
    options?: CallOptions,
  ): Promise<EndedJob> {
    const { received } = held;
    return this.#holder(held, 'snooze', { untilAt, ...(received && { received }) }, options);
  }

  /** Ends the lease until somebody has answered; the job then goes on at the front of its queue. */
  ask(
    held: Held & { readonly received?: readonly string[] },
    question: NewQuestion,
    options?: CallOptions,
  ): Promise<AskedJob> {
    const { received } = held;
    return this.#holder(held, 'ask', { ...question, ...(received && { received }) }, options);
  }

  /** What the next holder is to know. The last one counts. */
  checkpoint(
    held: Held,
    checkpoint: { readonly text: string } | { readonly data: unknown },
    options?: CallOptions,
  ): Promise<Job> {
    return this.#holder(held, 'checkpoint', checkpoint, options);
  }

  comment(id: string, text: string, options?: CallOptions): Promise<Job> {
    return this.#caller.json(post(id, 'comment', { text }, { repeatable: false, options }));
  }

  /** A waiting job ends at once; a running one is asked to stop. */
  cancel(id: string, end: { readonly reason?: string } = {}, options?: CallOptions): Promise<Job> {
    return this.#caller.json(post(id, 'cancel', end, { repeatable: true, options }));
  }

  /** Opens an ended job again. */
  retry(id: string, options?: CallOptions): Promise<Job> {
    return this.#caller.json(post(id, 'retry', {}, { repeatable: false, options }));
  }

  /** Gives a dead job all its attempts again. */
  redrive(id: string, options?: CallOptions): Promise<Job> {
    return this.#caller.json(post(id, 'redrive', {}, { repeatable: false, options }));
  }

  /** Says anew what is asked for, while nobody holds the job and it has not ended. */
  change(id: string, change: JobChange, options?: CallOptions): Promise<Job> {
    return this.#caller.json({ method: 'PATCH', path: pathOf(id), json: change, repeatable: true, options });
  }

  /** Removes a job that has ended, with its history, log and artifacts. */
  async remove(id: string, options?: CallOptions): Promise<void> {
    await this.#caller.json({ method: 'DELETE', path: pathOf(id), repeatable: false, options });
  }

  /** Does one thing to all jobs that fit a filter, a few at a time: see `bulkStatus` for how far it is. */
  bulk(action: BulkAction, filter: BulkFilter, options?: CallOptions): Promise<Bulk> {
    return this.#caller.json({
      method: 'POST',
      path: '/jobs/bulk',
      json: { action, filter },
      repeatable: false,
      options,
    });
  }

  /** How many jobs that would be. */
  async bulkCount(action: BulkAction, filter: BulkFilter, options?: CallOptions): Promise<number> {
    const json = { action, filter, dryRun: true };
    const call: Call = { method: 'POST', path: '/jobs/bulk', json, repeatable: true, options };
    return (await this.#caller.json<{ count: number }>(call)).count;
  }

  bulkStatus(id: string, options?: CallOptions): Promise<Bulk> {
    return this.#caller.json({ method: 'GET', path: bulkPath(id), repeatable: true, options });
  }

  /** What was done stays done. */
  cancelBulk(id: string, options?: CallOptions): Promise<Bulk> {
    const path = `${bulkPath(id)}/cancel`;
    return this.#caller.json({ method: 'POST', path, json: {}, repeatable: true, options });
  }

  /** Adds lines to the job's log. A call that is sent twice adds them twice, so it is not repeated. */
  log(held: Held, lines: readonly NewLogLine[], options?: CallOptions): Promise<LogAccepted> {
    return this.#caller.json(
      post(held.id, 'logs', { lines, leaseToken: held.leaseToken }, { repeatable: false, options }),
    );
  }

  /** The log so far, oldest first. */
  async *logs(
    id: string,
    { after = 0 }: PageFrom = {},
    options?: CallOptions,
  ): AsyncGenerator<LogLine, void> {
    for (let from = after; ; ) {
      const { logs, nextAfter } = await this.#page<{ logs: LogLine[] }>(id, 'logs', from, options);
      yield* logs;
      if (nextAfter === null) return;
      from = nextAfter;
    }
  }

  /** What became of each claim of the job, oldest first. Of a very long history the newest part. */
  async attempts(id: string, options?: CallOptions): Promise<readonly Attempt[]> {
    const path = `${pathOf(id)}/attempts`;
    const answer = await this.#caller.json<{ attempts: Attempt[] }>({
      method: 'GET',
      path,
      repeatable: true,
      options,
    });
    return answer.attempts;
  }

  /** What happened to the job so far, oldest first. */
  async *events(
    id: string,
    { after = 0 }: PageFrom = {},
    options?: CallOptions,
  ): AsyncGenerator<JobEvent, void> {
    for (let from = after; ; ) {
      const { events, nextAfter } = await this.#page<{ events: JobEvent[] }>(id, 'events', from, options);
      yield* events;
      if (nextAfter === null) return;
      from = nextAfter;
    }
  }

  /** The files that belong to the job. */
  async blobs(id: string, options?: CallOptions): Promise<readonly Artifact[]> {
    const all: Artifact[] = [];
    for (let query = {}; ; ) {
      const { blobs, nextAfter } = await this.#caller.json<{ blobs: Artifact[]; nextAfter: string | null }>({
        method: 'GET',
        path: `${pathOf(id)}/blobs`,
        query,
        repeatable: true,
        options,
      });
      all.push(...blobs);
      if (nextAfter === null) return all;
      query = { after: nextAfter };
    }
  }

  #creation(path: string, json: unknown, { idempotencyKey, ...options }: CreateOptions): Call {
    const headers = { 'idempotency-key': idempotencyKey ?? this.#caller.platform.randomId() };
    return { method: 'POST', path, json, headers, repeatable: true, options };
  }

  /** A claim that can be asked for again, when the answer to the first call is lost. */
  #named<E extends { readonly next?: NextClaim }>(end: E): E {
    return end.next ? { ...end, next: { claimId: this.#caller.platform.randomId(), ...end.next } } : end;
  }

  /** With its lease token such a call is done once; without one, as v0 does it, nobody can tell. */
  #holder<T>(held: Held, verb: string, fields: object, options?: CallOptions): Promise<T> {
    const { id, leaseToken } = held;
    const repeatable = leaseToken !== undefined;
    return this.#caller.json(post(id, verb, { ...fields, leaseToken }, { repeatable, options }));
  }

  #page<T>(
    id: string,
    what: string,
    after: number,
    options?: CallOptions,
  ): Promise<T & { readonly nextAfter: number | null }> {
    const path = `${pathOf(id)}/${what}`;
    return this.#caller.json({
      method: 'GET',
      path,
      query: { after, limit: PAGE },
      repeatable: true,
      options,
    });
  }
}

/** The caller knows the job already. A server that does not know this header answers with all of it. */
const BRIEFLY = { prefer: 'return=minimal' };

/** Whoever passes whole jobs means these fields of them. */
function ends(items: readonly BatchItem[]): BatchItem[] {
  return items.map(({ id, leaseToken, result }) => ({
    id,
    result,
    ...(leaseToken !== undefined && { leaseToken }),
  }));
}

function bulkPath(id: string): string {
  return `/bulks/${encodeURIComponent(id)}`;
}

function pathOf(id: string): string {
  return `/jobs/${encodeURIComponent(id)}`;
}

function post(id: string, verb: string, json: object, how: Pick<Call, 'repeatable' | 'options'>): Call {
  return { method: 'POST', path: `${pathOf(id)}/${verb}`, json, ...how };
}
