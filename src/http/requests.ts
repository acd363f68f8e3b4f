/** What becomes of requests: counted and timed by route, and told to the log where that is worth a line. */

import { type ErrorCode, ERRORS } from '../domain/error.ts';
import { Counted, type Histogram } from '../domain/histogram.ts';

export interface RouteCount {
  readonly method: string;
  readonly route: string;
  readonly byStatus: ReadonlyMap<number, number>;
  readonly seconds: Histogram;
}

/** Requests that reached no route are counted under this name: their paths are the caller's, and without bound. */
export const NO_ROUTE = '(none)';

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30];

type Facts = Readonly<Record<string, unknown>>;

export interface RequestLog {
  error(message: string, facts: Facts): void;
  /** One line now and then for each kind, with how many were left out. */
  sparingly(kind: string, level: 'warn' | 'info', message: string, facts: Facts): void;
  /** Null unless somebody wants to read of each request. */
  readonly debug: ((message: string, facts: Facts) => void) | null;
}

/** What is known of a request at its end. */
export interface Arrived {
  readonly id: string;
  readonly arrivedMs: number;
  readonly actor?: { readonly name: string } | null;
  readonly params?: unknown;
  readonly job?: string | null;
  readonly jobs?: readonly AboutJob[] | null;
  readonly waited?: boolean;
}

/** A job, or what names one. */
export type AboutJob = { readonly id: string } | { readonly job: { readonly id: string } };

/** What handlers say of their request. Only references are kept: few requests are ever told of. */
export interface Noted {
  job: string | null;
  jobs: readonly AboutJob[] | null;
  waited: boolean;
}

/** The request is about this job. */
export function noteJob(request: Noted, id: string): void {
  if (request.job === null) request.job = id;
  else if (request.job !== id) noteJobs(request, [{ id }]);
}

/** The request has made, taken or ended these jobs. */
export function noteJobs(request: Noted, jobs: readonly AboutJob[]): void {
  request.jobs = request.jobs === null ? jobs : [...request.jobs, ...jobs];
}

/** Refusals that an operator may want to know of: somebody is shut out, or does what he should not. */
const TOLD: ReadonlySet<ErrorCode> = new Set([
  'unauthorized',
  'wrong_role',
  'bad_host',
  'bad_origin',
  'too_large',
  'lease_lost',
  'queue_full',
  'mailbox_full',
  'rate_limited',
  'overloaded',
  'store_unavailable',
  'outcome_unknown',
  'disk_full',
  'artifact_damaged',
]);

export interface RequestOptions {
  readonly monoMs: () => number;
  readonly log: RequestLog;
  /** Calls that take longer are told; 0 is none. */
  readonly slowMs: number;
  readonly counts: boolean;
}

export type Answered = (request: Arrived, status: number, refusal?: ErrorCode) => void;

interface Counting {
  readonly byStatus: Map<number, number>;
  readonly seconds: Counted;
}

export class Requests {
  readonly #options: RequestOptions;
  readonly #byRoute = new Map<string, RouteCount & Counting>();

  constructor(options: RequestOptions) {
    this.#options = options;
  }

  now(): number {
    return this.#options.monoMs();
  }

  /** To be called once for each request of the route. One that has waited for something is never slow, nor is a stream. */
  of(method: string, route: string, isStream = false): Answered {
    const { monoMs, log, slowMs, counts } = this.#options;
    const key = `${method} ${route}`;
    const entry = this.#byRoute.get(key) ?? {
      method,
      route,
      byStatus: new Map<number, number>(),
      seconds: new Counted(SECONDS),
    };
    this.#byRoute.set(key, entry);
    const { byStatus, seconds } = entry;
    return (request, status, refusal) => {
      const ms = monoMs() - request.arrivedMs;
      if (counts) {
        byStatus.set(status, (byStatus.get(status) ?? 0) + 1);
        seconds.add(ms / 1_000);
      }
      const isSlow = slowMs > 0 && ms > slowMs && !isStream && request.waited !== true;
      if (!isSlow && refusal === undefined && log.debug === null) return;
      const facts = {
        ...factsOf(request),
        method,
        route,
        status,
        ...(refusal && { refusal }),
        ms: round(ms),
      };
      log.debug?.('A request', facts);
      if (isSlow) log.sparingly(`slow ${key}`, 'warn', 'A call was slow', facts);
      if (refusal !== undefined && TOLD.has(refusal))
        log.sparingly(refusal, 'warn', `Refused: ${ERRORS[refusal].message}`, facts);
    };
  }

  list(): readonly RouteCount[] {
    return [...this.#byRoute.values()].filter(({ byStatus }) => byStatus.size > 0);
  }
}

/** Never its body, its headers, or its URL: a path names things, and its query may hold what is secret. */
function factsOf({ id, actor, params, job, jobs }: Arrived): Facts {
  const named = (params as { readonly id?: unknown } | null | undefined)?.id;
  const about = jobsOf(job, jobs);
  return {
    requestId: id,
    ...(actor && { by: actor.name }),
    ...(about.length === 0 && typeof named === 'string' && ID.test(named) && { id: named }),
    ...(about.length > 0 && { job: about.length === 1 ? about[0] : about.slice(0, JOBS_TOLD) }),
    ...(about.length > JOBS_TOLD && { jobs: about.length }),
  };
}

/** The line of a request names so many jobs, and of more it says how many there were. */
const JOBS_TOLD = 10;

function jobsOf(job: Arrived['job'], jobs: Arrived['jobs']): string[] {
  const ids = (jobs ?? []).map((one) => ('job' in one ? one.job.id : one.id));
  return [...new Set(job ? [job, ...ids] : ids)].filter((each) => ID.test(each));
}

/** What a caller puts in its place may be anything. */
const ID = /^(\d{1,15}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

function round(ms: number): number {
  return Math.round(ms * 100) / 100;
}
