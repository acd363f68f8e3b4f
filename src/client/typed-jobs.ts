/** What the jobs of each type carry, for the compiler: the calls are the same, and the server checks what a type's schema says. */

import type { CallOptions } from './caller.ts';
import type { JobContext } from './job-run.ts';
import type { CreateOptions, Jobs, WaitOptions } from './jobs.ts';
import type {
  AwaitedJob,
  ClaimedJob,
  ClaimNextOptions,
  ClaimOptions,
  EndedAndNext,
  EndedJob,
  Held,
  Job,
  JobFilter,
  NewJob,
  NextClaim,
} from './types.ts';

/** What the jobs of one type carry. */
export interface JobShape {
  /** What is to be done. */
  readonly spec?: unknown;
  /** Parameters, as the type's schema has them. */
  readonly params?: unknown;
  /** What a handler returns. */
  readonly result?: unknown;
}

/** Nothing is known of the types: everything that jobs carry is `unknown`. */
export type AnyJobs = Readonly<Record<string, JobShape>>;

/** The names of the types. */
export type TypeName<T> = unknown extends T ? string : keyof T & string;

type Untyped<T> = string extends TypeName<T> ? true : false;

type Shape<T, K> = K extends keyof T ? T[K] : unknown;

/** A field of a shape; `unknown` where the shape does not say. */
type Carried<S, F extends keyof JobShape> = F extends keyof S ? S[F] : unknown;

/** As `Carried`, to be given: what a shape demands must be there. */
type Given<S, F extends keyof JobShape> = F extends keyof S
  ? undefined extends S[F]
    ? { readonly [P in F]?: S[F] }
    : { readonly [P in F]: S[F] }
  : { readonly [P in F]?: unknown };

type Carries<S, K> = {
  readonly type: K;
  readonly spec: Carried<S, 'spec'>;
  readonly params?: Carried<S, 'params'>;
  /** Null until the job is done. */
  readonly result: Carried<S, 'result'> | null;
};

type Plain = 'type' | 'spec' | 'params' | 'result';

/** A job of one of the types. Compare its `type`, and the compiler knows the rest. */
export type JobOf<T, K extends TypeName<T> = TypeName<T>> =
  Untyped<T> extends true ? Job : K extends TypeName<T> ? Omit<Job, Plain> & Carries<Shape<T, K>, K> : never;

/** The same as its holder sees it. */
export type ClaimedJobOf<T, K extends TypeName<T> = TypeName<T>> =
  Untyped<T> extends true
    ? ClaimedJob
    : K extends TypeName<T>
      ? Omit<ClaimedJob, Plain> & Carries<Shape<T, K>, K>
      : never;

/** The same as whoever waits for its end sees it. */
export type AwaitedJobOf<T, K extends TypeName<T> = TypeName<T>> =
  Untyped<T> extends true
    ? AwaitedJob
    : K extends TypeName<T>
      ? Omit<AwaitedJob, Plain> & Carries<Shape<T, K>, K>
      : never;

/** What `create` takes for a job of the type. */
export type NewJobOf<T, K extends TypeName<T> = TypeName<T>> =
  Untyped<T> extends true ? NewJob : { readonly type: K } & TypedFields<T, K>;

type TypedFields<T, K extends TypeName<T>> = Omit<NewJob, 'type' | 'spec' | 'params'> &
  Given<Shape<T, K>, 'spec'> &
  Given<Shape<T, K>, 'params'>;

/** What a handler of the type returns. */
export type ResultOf<T, K extends TypeName<T> = TypeName<T>> =
  Untyped<T> extends true ? unknown : K extends TypeName<T> ? Carried<Shape<T, K>, 'result'> : never;

/** What the holder of this very job may end it with. */
type ResultOfHeld<T, J> = J extends { readonly type: infer K extends TypeName<T> } ? ResultOf<T, K> : unknown;

/** Does one job. What it returns is the job's result, what it throws the job's failure. */
export type Handler<T = AnyJobs, K extends TypeName<T> = TypeName<T>> = (
  job: ClaimedJobOf<T, K>,
  context: JobContext,
) => Untyped<T> extends true ? unknown : ResultOf<T, K> | Promise<ResultOf<T, K>>;

/** One for each type. */
export type HandlersByType<T, K extends TypeName<T> = TypeName<T>> = { readonly [P in K]: Handler<T, P> };

/** From one handler, without types beside it, the compiler infers `never`: it does the jobs of all types. */
export type NamedTypes<T, K extends TypeName<T>> = [K] extends [never] ? TypeName<T> : K;

/** The calls about jobs, as far as their types are known. */
export type JobsOf<T> = Untyped<T> extends true ? Jobs : TypedJobs<T>;

type Typed = 'create' | 'createBatch' | 'get' | 'wait' | 'run' | 'list' | 'claim' | 'claimNext' | 'complete';

/**
 * The calls of `Jobs` with what jobs carry. Whoever names the types says that the jobs that he asks for are of these: the
 * compiler takes his word for it, and no call looks at what the server answers.
 */
export interface TypedJobs<T> extends Omit<Jobs, Typed> {
  /** A create that had to be sent twice makes one job. */
  create<K extends TypeName<T>>(
    job: { readonly type: K } & TypedFields<T, K>,
    options?: CreateOptions,
  ): Promise<JobOf<T, K>>;
  /** All of them or none. */
  createBatch<K extends TypeName<T>>(
    jobs: readonly ({ readonly type: K } & TypedFields<T, K>)[],
    options?: CreateOptions,
  ): Promise<readonly JobOf<T, K>[]>;
  /** One job, by its number or id. */
  get(id: string, options?: CallOptions): Promise<JobOf<T>>;
  /** Waits until the job has ended for good, or `waitMs` is over. */
  wait(id: string, options?: WaitOptions): Promise<AwaitedJobOf<T>>;
  /** Creates a job and waits until it has ended. */
  run<K extends TypeName<T>>(
    job: { readonly type: K } & TypedFields<T, K>,
    options?: WaitOptions & Pick<CreateOptions, 'idempotencyKey'>,
  ): Promise<AwaitedJobOf<T, K>>;
  /** All jobs that fit, page after page. */
  list<K extends TypeName<T> = TypeName<T>>(
    filter?: JobFilter & { readonly type?: K },
    options?: CallOptions,
  ): AsyncGenerator<JobOf<T, K>, void>;
  /** This very job. */
  claim(id: string, claim?: ClaimOptions, options?: CallOptions): Promise<ClaimedJobOf<T>>;
  /** The best ready jobs; none when the wait ended without one. */
  claimNext<K extends TypeName<T> = TypeName<T>>(
    claim?: ClaimNextOptions & { readonly types?: readonly K[] },
    options?: CallOptions,
  ): Promise<readonly ClaimedJobOf<T, K>[]>;
  /** With `next` the same call claims further jobs, in the same transaction. */
  complete<J extends Held>(
    held: J,
    end: { readonly result?: ResultOfHeld<T, J>; readonly next: NextClaim },
    options?: CallOptions,
  ): Promise<EndedAndNext>;
  complete<J extends Held>(
    held: J,
    end?: { readonly result?: ResultOfHeld<T, J> },
    options?: CallOptions,
  ): Promise<EndedJob>;
}
