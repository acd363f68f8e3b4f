/** What all verbs of the engine share: the way in, the clock, the caches and the wake-ups. */

import type { Accepted, JobCommand } from '../domain/command.ts';
import type { OperatorChat } from '../domain/delivery.ts';
import { type Refusal, SpineError } from '../domain/error.ts';
import type { JobType } from '../domain/job-type.ts';
import type { Job } from '../domain/job.ts';
import { LIMITS } from '../domain/limits.ts';
import type { Clock, Ids, TimeSource } from '../domain/ports.ts';
import type { Routing } from '../domain/routing.ts';
import { BREAKER_FAILURES } from '../domain/streak.ts';
import { webhookUrlProblem } from '../domain/webhook-url.ts';
import { Schemas } from '../domain/schema/schemas.ts';
import type { ServedGateway } from '../domain/served-gateway.ts';
import { loopActor } from '../domain/actor.ts';
import type { Store } from '../store/store.ts';
import { Flusher } from './flusher.ts';
import type { Audience, Effects, OutboxPolicy } from './change-set.ts';
import { EndWatch } from './end-watch.ts';
import type { LoginSettings } from './engine.ts';
import { FeedWatch } from './feed-watch.ts';
import { Meters } from './meters.ts';
import { MailHint } from './mail-hint.ts';
import { Presence } from './presence.ts';
import { serverName } from './server-name.ts';
import { UnknownClaims } from './unknown-claims.ts';
import { SteadyTime } from './steady-time.ts';
import { TokenCache } from './token-cache.ts';
import { LongWork } from './long-work.ts';
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

/** When work is lost under the `presence` rule of leases. */
export interface StuckSettings {
  /** It runs for longer than this … */
  readonly runningMs: number;
  /** … and its worker was not heard from for longer than this. */
  readonly offlineMs: number;
  /** So long may a worker that is heard otherwise say nothing of a job. */
  readonly limitMs: number;
}

/** Asking a model what to make of failures. */
export interface AdviceSettings {
  /** So long does a failed job wait for an answer. */
  readonly waitMs: number;
  /** So long is what was said of a failure good for others with the same fingerprint. */
  readonly reuseMs: number;
  /** How often it is asked in an hour, by all servers together. */
  readonly perHour: number;
}

/** How long workers may be silent, and sessions may take. */
export interface WorkerSettings {
  readonly staleMs: number;
  /** Of those who log in, who was heard within this time counts as online. */
  readonly onlineMs: number;
  /** How many jobs one of them may hold at a time. */
  readonly botTasks: number;
  readonly sessionTimeoutMs: number;
  readonly sessionTimeoutMaxMs: number;
  /** This installation runs sessions itself. */
  readonly sessions: boolean;
  /** Where heartbeats can be read as a file, on this machine; null where they cannot. */
  readonly heartbeatsFile: string | null;
}

export interface EngineOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Where the installation's clock can be set; without it, the clock is all there is. */
  readonly time?: TimeSource;
  readonly ids: Ids;
  readonly settings: EngineSettings;
  readonly scheduling?: SchedulingSettings;
  readonly workers?: WorkerSettings;
  readonly stuck?: StuckSettings;
  /** Null when there is nobody to ask. */
  readonly advice?: AdviceSettings | null;
  /** So many failures of a type in a row that are alike pause it; 0: none do. */
  readonly breakerFailures?: number;
  readonly outbox?: OutboxPolicy;
  /** The chat in which the operator is told of announced jobs. */
  readonly chat?: OperatorChat | null;
  /** Where a day begins: of what is told by the day. */
  readonly dayTz?: string;
  readonly logins?: LoginSettings;
  /** Called with the ids of jobs that are removed. */
  readonly forgetFiles?: (ids: readonly string[]) => Promise<void>;
  /** Why a webhook may not be called; null when it may. Unless given, only the text of the URL is judged. */
  readonly webhookProblem?: (url: string) => Promise<string | null>;
  /** Whether anything is counted; so unless said. */
  readonly metrics?: boolean;
  /** Where this server runs: no other can run there at the same time. */
  readonly site?: string;
  /** Names that its settings have tokens for. */
  readonly configured?: readonly string[];
}

/** Loops subscribe to these; a hint that is lost only costs time. */
export interface Hints {
  unsettled: () => void;
  timed: () => void;
  committed: () => void;
  /** A schedule's clock changed, or somebody asked for something new. */
  scheduled: () => void;
  /** Something is to be sent. */
  delivering: () => void;
  /** Messages may wait for whom this server does not know of. */
  mailed: () => void;
  /** Tokens or money were spent. */
  spent: () => void;
  /** A probe is to be asked. */
  probing: () => void;
  /** A worker was heard from. */
  beaten: () => void;
  /** Somebody was heard on whose presence leases rest. */
  heard: () => void;
  /** Somebody is to be asked about a failure, or has answered. */
  consulting: () => void;
  /** Something is to be done to all jobs that fit a filter. */
  bulk: () => void;
  /** A bot holds so many jobs that it gets no more. */
  crowded: (bot: string, held: number) => void;
}

export type CommitWatcher = (effects: Effects) => void;

interface KnownTypes {
  readonly byName: Map<string, JobType>;
  readonly byNo: Map<number, JobType>;
}

const NO_SCHEDULING: SchedulingSettings = {
  shell: false,
  gateways: ['main'],
  chainDepth: LIMITS.chainDepth,
};

const WORKERS: WorkerSettings = {
  staleMs: 90_000,
  onlineMs: 300_000,
  botTasks: 200,
  sessionTimeoutMs: 1_800_000,
  sessionTimeoutMaxMs: 7_200_000,
  sessions: false,
  heartbeatsFile: null,
};

const STUCK: StuckSettings = { runningMs: 900_000, offlineMs: 600_000, limitMs: 86_400_000 };

/** What one server hears, others know this much later at most; far less than workers may be silent. */
const HEARD_MS = 5_000;

/** Enough names that two servers rarely share one, few enough that the counters stay small. */
const LANE_NAMES = 64;

const HERALD = loopActor('herald');

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
  readonly workers: WorkerSettings;
  readonly stuck: StuckSettings;
  readonly advice: AdviceSettings | null;
  readonly breakerFailures: number;
  readonly webhookProblem: (url: string) => Promise<string | null>;
  readonly forgetFiles: (ids: readonly string[]) => Promise<void>;
  readonly dayTz: string;
  readonly flusher: Flusher;
  readonly waiters: Waiters;
  /** What is counted for /metrics; null where nothing is. */
  readonly meters: Meters | null;
  /** Whoever wants to know what a commit has brought, once it is durable. They must not throw: it is done. */
  readonly watchers: CommitWatcher[] = [];
  readonly ends: EndWatch;
  /** For checks that a caller's data may make long. */
  readonly longWork: LongWork;
  readonly tokens: TokenCache;
  readonly feed = new FeedWatch();
  /** For whom messages may wait. */
  readonly mail = new MailHint();
  /** Who was heard lately. */
  readonly presence: Presence;
  /** So much later than this server another one may know who was heard. */
  readonly heardMs: number;
  readonly unknownClaims = new UnknownClaims();
  /** What this server serves; null while it does not know. */
  gatewaysHere: () => readonly ServedGateway[] | null = () => null;
  /** What the other servers said that they serve. */
  gatewaysElsewhere: readonly ServedGateway[] | null = null;
  /** Pools that were seen to exist, so that not every job has to look. */
  readonly knownPools = new Set<string>();
  readonly hints: Hints = {
    unsettled: () => undefined,
    timed: () => undefined,
    committed: () => undefined,
    scheduled: () => undefined,
    delivering: () => undefined,
    mailed: () => undefined,
    spent: () => undefined,
    probing: () => undefined,
    beaten: () => undefined,
    heard: () => undefined,
    consulting: () => undefined,
    bulk: () => undefined,
    crowded: () => undefined,
  };
  readonly #clock: Clock;
  readonly #time: TimeSource | null;
  readonly #steady = new SteadyTime();
  #routing: Promise<Routing> | null = null;
  #types: Promise<KnownTypes> | null = null;
  readonly #outbox: OutboxPolicy;
  readonly #chat: OperatorChat | null;
  #audience: Promise<Audience> | null = null;
  readonly #toAnnounce: string[] = [];
  #announcement: Promise<void> | null = null;
  #unfinished = 0;
  stopping = false;

  constructor(options: EngineOptions) {
    this.store = options.store;
    this.ids = options.ids;
    // An embedded server has no others.
    if (options.store.dialect === 'sqlite') this.gatewaysElsewhere = [];
    this.server = serverName(options.site ?? 'here', options.ids.jobId(options.clock.now()));
    this.settings = options.settings;
    this.scheduling = options.scheduling ?? NO_SCHEDULING;
    this.workers = options.workers ?? WORKERS;
    this.stuck = options.stuck ?? STUCK;
    this.advice = options.advice ?? null;
    this.breakerFailures = options.breakerFailures ?? BREAKER_FAILURES;
    this.heardMs = Math.min(HEARD_MS, Math.ceil(this.stuck.offlineMs / 20));
    this.presence = new Presence(this.heardMs, () => this.hints.heard());
    this.webhookProblem = options.webhookProblem ?? (async (url) => webhookUrlProblem(url, []));
    this.forgetFiles = options.forgetFiles ?? (async () => undefined);
    this.dayTz = options.dayTz ?? 'UTC';
    this.meters = options.metrics === false ? null : new Meters();
    this.#outbox = options.outbox ?? (() => null);
    this.#chat = options.chat ?? null;
    this.#clock = options.clock;
    this.#time = options.time ?? null;
    this.waiters = new Waiters(options.clock);
    this.ends = new EndWatch(options.clock);
    this.longWork = new LongWork(1, options.clock);
    this.tokens = new TokenCache(options.store, options.configured ?? []);
    const { lanes, heartbeatLanes } = options.store;
    const laneNames = Array.from({ length: lanes + Object.keys(heartbeatLanes ?? {}).length }, () =>
      String(Math.floor(options.ids.fraction() * LANE_NAMES)),
    );
    this.flusher = new Flusher({
      store: options.store,
      now: () => this.now(),
      laneKey: (lane) => laneNames[lane] ?? '0',
      audience: () => this.#audienceNow(),
      newToken: () => options.ids.leaseToken(),
      mail: this.mail,
      routing: () => this.routing(),
      forgetRouting: () => this.forgetRouting(),
      onEffects: (effects) => this.#react(effects),
      onFlushed: (answers, tookMs) => this.meters?.flushed(answers, tookMs),
      monoMs: () => this.#time?.monoMs() ?? this.#clock.now(),
      onUnknown: (commands, answers) => this.unknownClaims.remember(commands, answers),
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
    const lastBeat = (await this.store.read.servers.beats()).get(ALIVE);
    if (lastBeat !== undefined && lastBeat > this.now()) this.#steady.startFrom(lastBeat + BEAT_MS);
  }

  /** By how much the clock was set forward since this was last asked: time in which nobody could be late. */
  takeStepMs(): number {
    return this.#steady.takeStepMs();
  }

  /** Decides one command on one job; a refusal becomes an exception here, after its commit. */
  async perform(command: JobCommand): Promise<Accepted> {
    return accepted(await this.flusher.submit(command));
  }

  /** The same with several on one job, one after another. Its row says whether messages go with the answer. */
  async performTogether(commands: readonly JobCommand[]): Promise<Job> {
    // Of commands on a job each answer is the job, or a refusal.
    const answers = (await this.flusher.submitTogether(commands)) as readonly (Accepted | Refusal)[];
    const done = answers.map((answer) => accepted(answer));
    const { job } = done.at(-1) as Accepted;
    return done.some(({ messages }) => messages !== undefined) ? { ...job, mailed: true } : job;
  }

  routing(): Promise<Routing> {
    this.#routing ??= this.#kept(Promise.resolve(this.store.read.routing.current()), () =>
      this.forgetRouting(),
    );
    return this.#routing;
  }

  /** For what a transaction tells beside the ends of jobs. */
  async subscribers(): Promise<Audience['subscribers']> {
    return (await this.#audienceNow()).subscribers;
  }

  #audienceNow(): Promise<Audience> {
    const read = async (): Promise<Audience> => {
      const list = await this.store.read.subscriptions.all();
      const newId = (now: number): string => this.ids.jobId(now);
      return { outbox: this.#outbox, subscribers: { list, chat: this.#chat, newId } };
    };
    this.#audience ??= this.#kept(read(), () => this.forgetSubscriptions());
    return this.#audience;
  }

  /** Another server may have changed them, or this one. */
  forgetSubscriptions(): void {
    this.#audience = null;
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
      const types = await this.store.read.types.all();
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

  /** What another server has told: who has new work, or messages. Of nothing at all it was too much to say. */
  heardOf(wakeUps: readonly string[]): void {
    if (wakeUps.length === 0) {
      this.waiters.wakeAll();
      this.hints.mailed();
    }
    for (const wakeUp of wakeUps)
      if (!this.mail.hear(wakeUp) && !this.ends.hear(wakeUp)) this.waiters.wake(wakeUp, 1);
  }

  /** Tells other servers. All that is said in one round of the event loop goes together. */
  announce(wakeUps: readonly string[]): Promise<void> {
    this.#announcement ??= new Promise((resolve, reject) => {
      setImmediate(() => {
        const said = this.#toAnnounce.splice(0);
        this.#announcement = null;
        this.flusher.transact(HERALD, async (tx) => tx.notify(said)).then(resolve, reject);
      });
    });
    this.#toAnnounce.push(...wakeUps);
    return this.#announcement;
  }

  /** Ends all waits, now and from here on: the server is stopping. */
  stopWaiting(): void {
    this.stopping = true;
    this.waiters.wakeAll();
    this.ends.wakeAll();
  }

  #react(effects: Effects): void {
    this.meters?.committed(effects);
    for (const watch of this.watchers) watch(effects);
    for (const [target, count] of effects.queued) this.waiters.wake(target, count);
    if (effects.ended.length > 0) this.#tellOfEnds(effects.ended);
    if (effects.unsettled) this.hints.unsettled();
    if (effects.timed) this.hints.timed();
    if (effects.delivering) this.hints.delivering();
    if (effects.spent) this.hints.spent();
    if (effects.routed) this.forgetRouting();
    if (effects.probing) this.hints.probing();
    // On PostgreSQL events come into the feed when the sequencer has numbered them.
    if (this.store.dialect === 'sqlite') this.feed.announce();
    else if (this.feed.watched) this.hints.committed();
  }

  #tellOfEnds(roots: readonly number[]): void {
    const elsewhere = this.ends.ended(roots);
    // Whoever waits there looks again by itself when this gets lost.
    if (elsewhere.length > 0) this.announce(elsewhere).catch(() => undefined);
  }
}

export function accepted<T extends { ok: true }>(answer: T | Refusal): T {
  if (!answer.ok) throw new SpineError(answer.code, answer.details);
  return answer;
}
