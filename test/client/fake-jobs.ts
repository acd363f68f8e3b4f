import { SpineApiError, SpineConnectionError } from '../../src/client/errors.ts';
import type { CallOptions } from '../../src/client/index.ts';
import type { Jobs } from '../../src/client/jobs.ts';
import type { ClaimedJob, ClaimNextOptions, Held, NextClaim } from '../../src/client/types.ts';
import { claimedJob } from './support.ts';

type Verb =
  | 'claimNext'
  | 'heartbeat'
  | 'complete'
  | 'fail'
  | 'release'
  | 'snooze'
  | 'log'
  | 'ask'
  | 'checkpoint';
type Fields = Readonly<Record<string, unknown>>;

interface Call {
  readonly verb: Verb;
  readonly id?: string;
  readonly fields: Fields;
}

/** What a worker needs of the server, in memory. `trouble` may refuse a call, or lose its answer. */
export class FakeJobs {
  readonly calls: Call[] = [];
  readonly queue: ClaimedJob[] = [];
  readonly #claims = new Map<string, readonly ClaimedJob[]>();
  trouble: (call: Call) => Error | 'lost' | undefined = () => undefined;
  /** Added to the answers of heartbeats. */
  beat: Partial<ClaimedJob> = {};
  #wake = (): void => {};

  add(...fields: readonly Partial<ClaimedJob>[]): void {
    this.queue.push(...fields.map(claimedJob));
    this.#wake();
  }

  of(verb: Verb): readonly Call[] {
    return this.calls.filter((call) => call.verb === verb);
  }

  /** The part of Jobs that workers use, with all its overloads. */
  get asJobs(): Jobs {
    const plain = (verb: Verb) => (held: Held, fields: Fields, options: CallOptions) =>
      this.#do({ verb, id: held.id, fields }, options, () =>
        claimedJob({ id: held.id, ...(verb === 'heartbeat' && this.beat) }),
      );
    return {
      claimNext: async (fields: ClaimNextOptions, options: CallOptions) => {
        await this.#available(fields, options.signal);
        return await this.#do({ verb: 'claimNext', fields: { ...fields } }, options, () =>
          this.#take(fields),
        );
      },
      heartbeat: plain('heartbeat'),
      finish: (held: Held, verb: 'complete' | 'fail', fields: Fields, options: CallOptions) =>
        this.#do({ verb, id: held.id, fields }, options, () => {
          const next = fields['next'] as NextClaim | undefined;
          return next ? this.#take(next) : [];
        }),
      release: plain('release'),
      snooze: (held: Held, untilAt: Date, options: CallOptions) =>
        plain('snooze')(held, { untilAt }, options),
      log: plain('log'),
      ask: plain('ask'),
      checkpoint: plain('checkpoint'),
    } as unknown as Jobs;
  }

  /** A call that waits is answered when a job comes, or never. */
  async #available({ waitMs, claimId = '' }: ClaimNextOptions, signal?: AbortSignal): Promise<void> {
    if (waitMs === undefined || this.queue.length > 0 || this.#claims.has(claimId)) return;
    await new Promise<void>((resolve, reject) => {
      this.#wake = resolve;
      signal?.addEventListener('abort', () => reject(signal.reason as Error));
    });
  }

  #take({ claimId = '', max = 1, types }: NextClaim): readonly ClaimedJob[] {
    const before = this.#claims.get(claimId);
    if (before) return before;
    const jobs = types ? [] : this.queue.splice(0, max);
    if (jobs.length > 0) this.#claims.set(claimId, jobs);
    return jobs;
  }

  async #do<T>(call: Call, { signal }: CallOptions, answer: () => T): Promise<T> {
    this.calls.push(call);
    await Promise.resolve();
    const trouble = this.trouble(call);
    if (trouble instanceof Error) throw trouble;
    const done = answer();
    if (trouble === 'lost')
      throw new SpineConnectionError('lost', { code: 'ECONNRESET', mayHaveArrived: true });
    if (signal?.aborted) throw signal.reason as Error;
    return done;
  }
}

export function refusal(
  status: number,
  code: string,
  details: Fields = {},
  retryAfterMs: number | null = null,
): SpineApiError {
  const facts = { hint: null, retryable: false, requestId: null, retryAfterMs };
  return new SpineApiError({ ...facts, status, code, details, message: `${code}.` });
}
