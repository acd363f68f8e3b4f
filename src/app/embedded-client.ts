/** What a worker needs of a client, straight on the engine: the same answers and refusals as over HTTP, without HTTP. */

import { SpineApiError } from '../client/errors.ts';
import type { Platform } from '../client/platform.ts';
import type { CallOptions, ClaimedJob, LogAccepted, NewQuestion } from '../client/index.ts';
import type {
  AskedJob,
  BadEnd,
  Beat,
  ClaimNextOptions,
  EndedJob,
  Held,
  NewLogLine,
  NextClaim,
  Time,
} from '../client/types.ts';
import type { WorkerClient, WorkerJobs } from '../client/worker.ts';
import type { Actor, ClaimedJob as Claimed, GatewaySlots } from '../domain/command.ts';
import { SpineError } from '../domain/error.ts';
import type { Job, JobDetails, LeasePolicy } from '../domain/job.ts';
import type { Clock } from '../domain/ports.ts';
import type { Core } from '../engine/core.ts';
import { claimName } from '../engine/server-name.ts';
import type { Ending } from '../engine/engine.ts';
import type { OpenEngine } from '../engine/open-engine.ts';
import { claimedJson } from '../http/doors/spine/claims.ts';
import { jobJson, onlyInput } from '../http/doors/spine/view.ts';
import { errorAnswer } from '../http/door.ts';
import { spine } from '../http/doors/spine/door.ts';
import { asSpineError } from '../http/errors.ts';

export function embeddedClient(
  engine: OpenEngine,
  clock: Clock,
  actor: Actor,
  gatewaySlots: GatewaySlots | null = null,
  policy: LeasePolicy = 'adopt',
): WorkerClient {
  return {
    jobs: new EmbeddedJobs(engine, actor, gatewaySlots, policy),
    platform: platformOf(clock, engine.core),
  };
}

function platformOf(clock: Clock, { ids, server }: Core): Platform {
  return {
    nowMs: () => clock.now(),
    after: (delayMs, task) => clock.after(delayMs, task),
    random: () => ids.fraction(),
    // Its claims are named so: whoever takes over from this server knows them by it.
    randomId: () => claimName(server, ids.jobId(clock.now())),
  };
}

class EmbeddedJobs implements WorkerJobs {
  readonly #engine: OpenEngine;
  readonly #actor: Actor;
  readonly #gatewaySlots: GatewaySlots | null;
  /** Whether its work may go on without it: then the next holder looks after it. */
  readonly #policy: LeasePolicy;

  constructor(engine: OpenEngine, actor: Actor, gatewaySlots: GatewaySlots | null, policy: LeasePolicy) {
    this.#engine = engine;
    this.#actor = actor;
    this.#gatewaySlots = gatewaySlots;
    this.#policy = policy;
  }

  claimNext(claim: ClaimNextOptions = {}, { signal }: CallOptions = {}): Promise<readonly ClaimedJob[]> {
    return answered(async () => {
      // Nobody waits at an engine that stops; without this the worker would ask in circles.
      if (this.#engine.core.stopping) throw new SpineError('shutting_down');
      const { waitMs = 0 } = claim;
      const wanted = { ...this.#wanted(claim), waitMs, ...(signal && { signal }) };
      return this.#shown(await this.#engine.leases.claimNext(this.#actor, wanted));
    });
  }

  heartbeat({ id, leaseToken }: Held, { progress }: { readonly progress?: unknown } = {}): Promise<Beat> {
    return answered(async () => {
      const { leases } = this.#engine;
      return shown((await leases.heartbeat(this.#actor, id, leaseToken ?? null, progress)).job);
    });
  }

  finish(
    { id, leaseToken = null }: { readonly id: string; readonly leaseToken?: string | null },
    verb: 'complete' | 'fail',
    end: BadEnd & { readonly result?: unknown; readonly next?: NextClaim },
  ): Promise<readonly ClaimedJob[]> {
    const { leases } = this.#engine;
    const { result, error, requeue = true, cause = null, backoff = false, next } = end;
    const ending: Ending = verb === 'complete' ? { verb, result } : { verb, error, requeue, cause, backoff };
    return answered(async () => {
      if (next !== undefined) {
        const done = await leases.endThenClaim(this.#actor, id, leaseToken, ending, this.#wanted(next));
        return this.#shown(done.next);
      }
      if (ending.verb === 'complete') await leases.complete(this.#actor, id, leaseToken, ending.result);
      else await leases.fail(this.#actor, id, leaseToken, error, requeue, { cause, backoff });
      return [];
    });
  }

  release({ id, leaseToken }: Held, { reason }: { readonly reason?: string } = {}): Promise<EndedJob> {
    return answered(async () => {
      const { leases } = this.#engine;
      return shown((await leases.release(this.#actor, id, leaseToken ?? null, reason ?? null)).job);
    });
  }

  snooze({ id, leaseToken }: Held, untilAt: Time): Promise<EndedJob> {
    return answered(async () => {
      const at = new Date(untilAt).getTime();
      return shown((await this.#engine.jobs.snooze(this.#actor, id, at, leaseToken ?? null)).job);
    });
  }

  ask({ id, leaseToken }: Held, question: NewQuestion): Promise<AskedJob> {
    return answered(async () => {
      const { questions } = this.#engine;
      return shown((await questions.ask(this.#actor, id, leaseToken ?? null, question)).accepted.job);
    });
  }

  checkpoint(
    { id, leaseToken }: Held,
    checkpoint: { readonly text: string } | { readonly data: unknown },
  ): Promise<EndedJob> {
    return answered(async () => {
      const value = 'text' in checkpoint ? checkpoint.text : checkpoint.data;
      const { leases } = this.#engine;
      return shown((await leases.checkpoint(this.#actor, id, leaseToken ?? null, value)).job);
    });
  }

  log({ id, leaseToken }: Held, lines: readonly NewLogLine[]): Promise<LogAccepted> {
    return answered(async () => {
      const now = this.#engine.now();
      const stamped = lines.map(({ text, level = 'info' }) => ({ text, level, at: now }));
      const { job } = await this.#engine.leases.log(this.#actor, id, leaseToken ?? null, stamped);
      return { accepted: lines.length, cancelRequested: job.cancelRequested };
    });
  }

  #wanted({ targets = [], types, max = 1, leaseMs, claimId }: NextClaim) {
    return {
      targets,
      max,
      policy: this.#policy,
      ...(this.#gatewaySlots && { gatewaySlots: this.#gatewaySlots }),
      ...(types && { types }),
      ...(leaseMs !== undefined && { leaseMs }),
      ...(claimId !== undefined && { claimId }),
    } as const;
  }

  async #shown(claimed: readonly Claimed[]): Promise<readonly ClaimedJob[]> {
    try {
      const texts = await claimedJson(this.#engine, claimed);
      return texts.map((text) => JSON.parse(text) as ClaimedJob);
    } catch (error) {
      await this.#engine.leases.giveBack(this.#actor, claimed, false);
      throw error;
    }
  }
}

const NO_DETAILS: JobDetails = onlyInput(
  { title: null, description: null, spec: null, meta: null, params: null, tags: [], budget: null },
  null,
);

/** A worker asks such answers for the lease's end and the request to cancel; what it was given it has. */
function shown(job: Job): EndedJob {
  return JSON.parse(jobJson(job, NO_DETAILS)) as EndedJob;
}

async function answered<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw apiError(error);
  }
}

function apiError(cause: unknown): SpineApiError {
  const { status, headers, body } = errorAnswer(spine, asSpineError(cause), 'embedded');
  const { error, message, hint, retryable, ...details } = body;
  const retryAfterS = headers['retry-after'];
  const facts = {
    code: String(error),
    status,
    message: String(message),
    hint: String(hint),
    retryable: retryable === true,
    details,
    requestId: null,
    retryAfterMs: retryAfterS === undefined ? null : Number(retryAfterS) * 1_000,
  };
  return new SpineApiError(facts, { cause });
}
