/** What all verbs of the engine share: the way in, the clock, the caches and the wake-ups. */

import type { Accepted, JobCommand } from '../domain/command.ts';
import { type Refusal, SpineError } from '../domain/error.ts';
import { LIMITS } from '../domain/limits.ts';
import type { Clock, Ids, TimeSource } from '../domain/ports.ts';
import { Schemas } from '../domain/schema/schemas.ts';
import type { JobType, Routing, Store } from '../store/store.ts';
import { Flusher } from './flusher.ts';
import type { Effects, OutboxPolicy } from './ledger.ts';
import { FeedWatch } from './feed-watch.ts';
import { serverName } from './server-name.ts';
import { Strays } from './strays.ts';
import { SteadyTime } from './steady-time.ts';
import { TokenCache } from './token-cache.ts';
import { Turns } from './turns.ts';
import { Waiters } from './waiters.ts';

export interface EngineSettings {
  readonly leaseMs: number;
  readonly maxAttempts: number;
  readonly maxUnfinishedJobs: number;
}

/** What schedules may ask for in this installation. */
export interface SchedulingSettings {
  readonly shell: boolean;
  /** The first is the one that is meant when none is named. */
  readonly gateways: readonly string[];
  readonly chainDepth: number;
}

export interface EngineOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Where the installation's clock can be set; without it, the clock is all there is. */
  readonly time?: TimeSource;
  readonly ids: Ids;
  readonly settings: EngineSettings;
  readonly scheduling?: SchedulingSettings;
  readonly outbox?: OutboxPolicy;
  /** Where this server stands: no other can be there at the same time. */
  readonly place?: string;
}

/** Loops subscribe to these; a hint that is lost only costs time. */
export interface Hints {
  unsettled: () => void;
  timed: () => void;
  committed: () => void;
  /** A schedule's clock changed, or somebody asked for something new. */
  scheduled: () => void;
}

interface KnownTypes {
  readonly byName: Map<string, JobType>;
  readonly byNo: Map<number, JobType>;
}

const NO_SCHEDULING: SchedulingSettings = {
  shell: false,
  gateways: ['main'],
  chainDepth: LIMITS.chainDepth,
};

/** Enough names that two servers rarely share one, few enough that the counters stay small. */
const LANE_NAMES = 64;

/** The name under which all servers say that they are alive, and how often they do. */
export const ALIVE = 'server';
export const BEAT_MS = 1_000;

export class Core {
  readonly store: Store;
  readonly ids: Ids;
  /** This server among those that share the store. */
  readonly server: string;
  readonly schemas = new Schemas();
  readonly settings: EngineSettings;
  readonly scheduling: SchedulingSettings;
  readonly flusher: Flusher;
  readonly waiters: Waiters;
  /** For what a caller's data may make long. */
  readonly turns: Turns;
  readonly tokens: TokenCache;
  readonly feed = new FeedWatch();
  readonly strays = new Strays();
  /** Pools that were seen to exist, so that not every job has to look. */
  readonly knownPools = new Set<string>();
  readonly hints: Hints = {
    unsettled: () => undefined,
    timed: () => undefined,
    committed: () => undefined,
    scheduled: () => undefined,
  };
  readonly #clock: Clock;
  readonly #time: TimeSource | null;
  readonly #steady = new SteadyTime();
  #routing: Promise<Routing> | null = null;
  #types: Promise<KnownTypes> | null = null;
  #unfinished = 0;
  stopping = false;

  constructor(options: EngineOptions) {
    this.store = options.store;
    this.ids = options.ids;
    this.server = serverName(options.place ?? 'here', options.ids.jobId(options.clock.now()));
    this.settings = options.settings;
    this.scheduling = options.scheduling ?? NO_SCHEDULING;
    this.#clock = options.clock;
    this.#time = options.time ?? null;
    this.waiters = new Waiters(options.clock);
    this.turns = new Turns(1, options.clock);
    this.tokens = new TokenCache(options.store);
    const laneNames = Array.from({ length: options.store.lanes }, () =>
      String(Math.floor(options.ids.fraction() * LANE_NAMES)),
    );
    this.flusher = new Flusher({
      store: options.store,
      now: () => this.now(),
      laneKey: (lane) => laneNames[lane] ?? '0',
      outbox: options.outbox ?? (() => null),
      routing: () => this.routing(),
      forgetRouting: () => this.forgetRouting(),
      onEffects: (effects) => this.#react(effects),
      onUnknown: (commands, answers) => this.strays.note(commands, answers),
      handOver: (target, jobs) => this.waiters.handOver(target, jobs),
    });
  }

  now(): number {
    const now = this.#clock.now();
    const ownMs = this.#time?.wallMs() ?? now;
    // Servers on one PostgreSQL agree on its clock; an embedded one has the machine's.
    const clockMs = this.store.dialect === 'sqlite' ? ownMs : now + this.store.clockOffsetMs();
    return this.#steady.read(this.#time?.monoMs() ?? now, clockMs);
  }

  /** To be called before the first command: the clock may have been set back while no server ran. */
  async continueTime(): Promise<void> {
    const lastBeat = await this.store.read.aliveAt(ALIVE);
    if (lastBeat !== null && lastBeat > this.now()) this.#steady.startFrom(lastBeat + BEAT_MS);
  }

  /** By how much the clock was set forward since this was last asked: time in which nobody could be late. */
  takeStepMs(): number {
    return this.#steady.takeStepMs();
  }

  /** Decides one command on one job; a refusal becomes an exception here, after its commit. */
  async perform(command: JobCommand): Promise<Accepted> {
    return accepted(await this.flusher.submit(command));
  }

  routing(): Promise<Routing> {
    this.#routing ??= this.#kept(Promise.resolve(this.store.read.routing()), () => this.forgetRouting());
    return this.#routing;
  }

  /** A new type raises the same revision, so both are read again together. */
  forgetRouting(): void {
    this.#types = null;
    this.#routing = null;
  }

  async types(): Promise<Map<string, JobType>> {
    return (await this.#knownTypes()).byName;
  }

  async typesByNo(): Promise<Map<number, JobType>> {
    return (await this.#knownTypes()).byNo;
  }

  #knownTypes(): Promise<KnownTypes> {
    const read = async (): Promise<KnownTypes> => {
      const types = await this.store.read.types();
      return {
        byName: new Map(types.map((type) => [type.name, type])),
        byNo: new Map(types.map((type) => [type.no, type])),
      };
    };
    this.#types ??= this.#kept(read(), () => this.forgetTypes());
    return this.#types;
  }

  /** A read that failed must not be remembered: the database comes back, the answer would not. */
  #kept<T>(read: Promise<T>, forget: () => void): Promise<T> {
    read.catch(forget);
    return read;
  }

  forgetTypes(): void {
    this.#types = null;
  }

  /** How many jobs have not ended, as of the last look at the counters. */
  get unfinished(): number {
    return this.#unfinished;
  }

  set unfinished(count: number) {
    this.#unfinished = count;
  }

  /** Ends all waits for work, now and from here on: the server is stopping. */
  stopWaiting(): void {
    this.stopping = true;
    this.waiters.wakeAll();
  }

  #react(effects: Effects): void {
    for (const [target, count] of effects.queued) this.waiters.wake(target, count);
    if (effects.unsettled) this.hints.unsettled();
    if (effects.timed) this.hints.timed();
    // On PostgreSQL events come into the feed when the sequencer has numbered them.
    if (this.store.dialect === 'sqlite') this.feed.announce();
    else if (this.feed.watched) this.hints.committed();
  }
}

export function accepted<T extends { ok: true }>(answer: T | Refusal): T {
  if (!answer.ok) throw new SpineError(answer.code, answer.details);
  return answer;
}
