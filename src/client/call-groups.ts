/** One address, one token, and the calls grouped by what they are about: the client, whatever it runs in. */

import { Pauses, Pools, Types } from './admin.ts';
import { Blobs } from './blobs.ts';
import { Caller, type CallOptions } from './caller.ts';
import { Aliases, Deliveries, Subscriptions } from './deliveries.ts';
import { SpineApiError } from './errors.ts';
import { type EventsOptions, feed } from './events.ts';
import { Jobs } from './jobs.ts';
import { Questions } from './questions.ts';
import { Approvals, Runs, Schedules } from './schedules.ts';
import { Agents, Messages } from './messages.ts';
import type { Platform } from './platform.ts';
import type { Transport } from './transport.ts';
import type { AnyJobs, JobsOf } from './typed-jobs.ts';
import type { FeedEvent, Health, Me, Readiness, Stats } from './types.ts';
import { UsageReports } from './usage.ts';

export interface SpineClientOptions {
  /** The address of the server; `http://127.0.0.1:36725` unless said. */
  readonly baseUrl?: string | undefined;
  /** Whose calls these are. */
  readonly token?: string | undefined;
  /** What carries the requests: connections of Node's own, or fetch where there is no Node. */
  readonly transport?: Transport;
  /** How often a call is tried again, where that is safe; 5 unless said. */
  readonly retries?: number;
  /** How long one try may take; 30,000 unless said. */
  readonly timeoutMs?: number;
  /** Clock, timers and randomness, for tests. */
  readonly platform?: Platform;
}

const RETRIES = 5;
const TIMEOUT_MS = 30_000;

/** A server of this machine, as it is set up unless somebody said otherwise. */
const BASE_URL = 'http://127.0.0.1:36725';

export class CallGroups<T = AnyJobs> {
  /** For the compiler alone: what the jobs of each type carry. */
  declare readonly shapes?: () => T;
  readonly jobs: JobsOf<T>;
  readonly types: Types;
  readonly pools: Pools;
  readonly pauses: Pauses;
  readonly blobs: Blobs;
  readonly schedules: Schedules;
  readonly runs: Runs;
  readonly approvals: Approvals;
  readonly messages: Messages;
  readonly agents: Agents;
  readonly aliases: Aliases;
  readonly subscriptions: Subscriptions;
  readonly deliveries: Deliveries;
  readonly questions: Questions;
  readonly usage: UsageReports;
  readonly platform: Platform;
  readonly #caller: Caller;

  constructor(options: SpineClientOptions, machine: Platform) {
    const { baseUrl = BASE_URL, retries = RETRIES, timeoutMs = TIMEOUT_MS } = options;
    const platform = options.platform ? on(machine, options.platform) : machine;
    this.#caller = new Caller({ ...options, baseUrl, retries, timeoutMs, platform });
    this.platform = platform;
    // The types say more of the very same calls.
    this.jobs = new Jobs(this.#caller) as Jobs & JobsOf<T>;
    this.types = new Types(this.#caller);
    this.pools = new Pools(this.#caller);
    this.pauses = new Pauses(this.#caller);
    this.blobs = new Blobs(this.#caller);
    this.schedules = new Schedules(this.#caller);
    this.runs = new Runs(this.#caller);
    this.approvals = new Approvals(this.#caller);
    this.messages = new Messages(this.#caller);
    this.agents = new Agents(this.#caller);
    this.aliases = new Aliases(this.#caller);
    this.subscriptions = new Subscriptions(this.#caller);
    this.deliveries = new Deliveries(this.#caller);
    this.questions = new Questions(this.#caller);
    this.usage = new UsageReports(this.#caller);
  }

  /** How many jobs are in which state. */
  stats(options?: CallOptions): Promise<Stats> {
    return this.#caller.json({ method: 'GET', path: '/stats', repeatable: true, options });
  }

  /** Who the token stands for, and what it may do. */
  me(options?: CallOptions): Promise<Me> {
    return this.#caller.json({ method: 'GET', path: '/me', repeatable: true, options });
  }

  /** Needs no token. */
  health(options?: CallOptions): Promise<Health> {
    return this.#caller.json({ method: 'GET', path: '/health', repeatable: true, options });
  }

  /** Whether the server can take work now, and if not, why. Needs no token. */
  async ready(options?: CallOptions): Promise<Readiness> {
    try {
      await this.#caller.json({
        method: 'GET',
        path: '/ready',
        repeatable: true,
        options: { retries: 0, ...options },
      });
      return { ready: true, reason: null, message: null };
    } catch (error) {
      if (!(error instanceof SpineApiError) || error.code !== 'unready') throw error;
      return { ready: false, reason: String(error.details['reason']), message: error.message };
    }
  }

  /** What happens, as it happens, until the signal aborts or the loop is left. */
  events(options: EventsOptions = {}): AsyncGenerator<FeedEvent, void> {
    return feed(this.#caller, options);
  }

  /** Closes the kept connections. A client that is dropped without it holds up nothing. */
  close(): Promise<void> {
    return this.#caller.close();
  }
}

/** A clock and randomness of somebody's own, on a machine whose connections and signals are as they are. */
function on(machine: Platform, own: Platform): Platform {
  return {
    nowMs: () => own.nowMs(),
    after: (delayMs, task) => own.after(delayMs, task),
    random: () => own.random(),
    randomId: () => own.randomId(),
    transport: own.transport ?? machine.transport,
    onTermination: own.onTermination ?? machine.onTermination,
  };
}
