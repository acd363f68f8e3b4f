/** Group commit: whatever arrives while a flush is under way shares the next one, and each caller gets its own durable answer. */

import type {
  Accepted,
  Actor,
  ClaimNext,
  ClaimNextAnswer,
  Command,
  Create,
  CreateAnswer,
} from '../domain/command.ts';
import { type Refusal, SpineError } from '../domain/error.ts';
import { LIMITS } from '../domain/limits.ts';
import type { Routing } from '../domain/routing.ts';
import type { Store, Tx } from '../store/store.ts';
import { lasts, noteCommit } from './after-commit.ts';
import { FairQueue, type Piece } from './fair-queue.ts';
import { type Answer, flush, type Flushed, StaleRouting } from './flush.ts';
import { type Audience, type Effects, ChangeSet } from './change-set.ts';
import { Hearing } from './hearing.ts';
import type { MailHint } from './mail-hint.ts';
import type { HandedOver } from './waiters.ts';
import { weightOf } from './command-weight.ts';

/** Larger flushes hold locks longer without getting cheaper. */
const FLUSH_WEIGHT = 1_000;
/** A lost race over a unique key is decided anew; more than a few in a row is a fault. */
const TRIES_ALONE = 4;
/** Further waiters are woken after the commit, as always. */
const HANDED_OVER = 100;

export type AnswerTo<C extends Command> = C extends Create
  ? CreateAnswer
  : C extends ClaimNext
    ? ClaimNextAnswer
    : Accepted | Refusal;

interface Waiting extends Piece {
  /** Commands that belong into one flush. */
  readonly commands: readonly Command[];
  /** A claim that waited for such jobs as the flush makes. */
  readonly handedOver?: boolean;
  readonly resolve: (answers: readonly Answer[]) => void;
  readonly reject: (error: unknown) => void;
}

/** Work that wants a transaction to itself, e.g. settling. */
interface Alone extends Piece {
  readonly run: (lane: number) => Promise<void>;
}

/** What becomes of heartbeats whose rows others hold. Where it is null, a flush waits for them. */
type PassedOver = (waiting: Waiting) => void;

/** Heartbeats that wait for a lane of their own. */
interface HeartbeatLine {
  readonly queue: FairQueue<Waiting>;
  isUnderWay: boolean;
}

export interface FlusherOptions {
  readonly store: Store;
  readonly now: () => number;
  /** Names this server's lanes in shared counters. */
  readonly laneKey: (lane: number) => string;
  readonly audience: () => Promise<Audience>;
  readonly newToken: () => string;
  /** For whom messages wait. */
  readonly mail: MailHint;
  readonly routing: () => Promise<Routing>;
  readonly forgetRouting: () => void;
  readonly onEffects: (effects: Effects) => void;
  /** Of a flush that was committed, and how long that took. */
  readonly onFlushed: (answers: readonly Answer[], tookMs: number) => void;
  readonly monoMs: () => number;
  /** These answers were decided, and nobody knows whether they were saved. */
  readonly onUnknown: (commands: readonly Command[], answers: readonly Answer[]) => void;
  /** Waiting claims for new jobs of a target, to be decided in the flush that makes them. */
  readonly handOver: (target: string, jobs: number) => readonly HandedOver[];
}

/**
 * Five kinds of work wait apart, so that none can stand before another: heartbeats, claims, other commands, the
 * callers' own transactions and those of the loops. Heartbeats have lanes of their own where there are some, and wait
 * for nothing else: those whose jobs others are just writing are passed over, and wait for them apart from all that can
 * be decided. With a single lane a flush takes all heartbeats, and of the other commands what fits. Flushes and
 * transactions alternate. Within a kind everybody is served in rotation.
 */
export class Flusher {
  readonly #options: FlusherOptions;
  readonly #freeLanes: number[];
  readonly #parking = new Set<string>();
  readonly #heartbeats: HeartbeatLine = { queue: new FairQueue(), isUnderWay: false };
  /** Those that were passed over. */
  readonly #heldUp: HeartbeatLine = { queue: new FairQueue(), isUnderWay: false };
  readonly #hearing = new Hearing<Waiting>();
  readonly #commands = new FairQueue<Waiting>();
  /** The last flush had no room for them. */
  #passedOver = false;
  /**
   * Those who ask for the next jobs. One lane at a time serves them: two would look at the same heads, and each pass
   * over all that the other has locked.
   */
  readonly #claims = new FairQueue<Waiting>();
  #claiming = false;
  readonly #transactions = new FairQueue<Alone>();
  readonly #duties = new FairQueue<Alone>();
  #aloneUnderWay = 0;
  /** What comes next when both wait. */
  #next: { of: 'commands' | 'alone'; alone: 'transactions' | 'duties' } = {
    of: 'commands',
    alone: 'transactions',
  };
  #underWay = 0;
  #idle: (() => void)[] = [];
  #stopping = false;

  constructor(options: FlusherOptions) {
    this.#options = options;
    this.#freeLanes = Array.from({ length: options.store.lanes }, (_, lane) => lane);
  }

  async submit<C extends Command>(command: C): Promise<AnswerTo<C>> {
    return (await this.submitTogether([command]))[0] as AnswerTo<C>;
  }

  /** Commands of one actor that are decided in one flush, one after another. */
  async submitTogether(commands: readonly Command[]): Promise<readonly Answer[]> {
    const [first] = commands;
    if (first === undefined) return [];
    const answers = await this.#decided(first.actor, commands);
    if (commands.some((command, i) => answers[i]?.ok === true && lasts(command))) noteCommit(first.actor);
    return answers;
  }

  #decided(actor: Actor, commands: readonly Command[]): Promise<readonly Answer[]> {
    if (this.#stopping) return Promise.reject(new SpineError('shutting_down'));
    const queue = this.#queueOf(commands);
    if (queue.isFullFor(actor, LIMITS.pendingCommands)) return Promise.reject(overloaded());
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { actor, weight: weightOf(commands), commands, resolve, reject };
      queue.push(waiting);
      const isHeartbeat = queue === this.#heartbeats.queue;
      if (isHeartbeat) this.#hearing.came(waiting);
      if (isHeartbeat && this.#options.store.heartbeatLanes !== null) this.#kickHeartbeats();
      else this.#kick();
    });
  }

  /** Runs `work` in a transaction of its own, with a change set to write through. */
  async transact<T>(actor: Actor, work: (tx: Tx, changeSet: ChangeSet) => Promise<T>): Promise<T> {
    const value = await this.#committed(actor, work);
    noteCommit(actor);
    return value;
  }

  #committed<T>(actor: Actor, work: (tx: Tx, changeSet: ChangeSet) => Promise<T>): Promise<T> {
    const queue = actor.role === 'system' ? this.#duties : this.#transactions;
    if (queue.isFullFor(actor, LIMITS.pendingCommands)) return Promise.reject(overloaded());
    return new Promise((resolve, reject) => {
      const run = async (lane: number): Promise<void> => {
        try {
          resolve(await this.#transact(lane, work));
        } catch (error) {
          reject(error);
        }
      };
      queue.push({ actor, weight: 1, run });
      this.#kick();
    });
  }

  /** Resolves when every heartbeat that has come by now is decided. */
  heard(): Promise<void> {
    return this.#hearing.heard();
  }

  /** Takes no more commands, and resolves when those under way are durable. */
  async stop(): Promise<void> {
    this.#stopping = true;
    if (this.#underWay === 0 && this.pending === 0) return;
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  get pending(): number {
    const heartbeats = this.#heartbeats.queue.size + this.#heldUp.queue.size;
    const commands = this.#claims.size + this.#commands.size;
    return heartbeats + commands + this.#transactions.size + this.#duties.size;
  }

  #queueOf(commands: readonly Command[]): FairQueue<Waiting> {
    if (commands.some(({ kind }) => kind === 'claimNext')) return this.#claims;
    return commands.every(({ kind }) => kind === 'heartbeat') ? this.#heartbeats.queue : this.#commands;
  }

  #kick(): void {
    const lane = this.#freeLanes.pop();
    if (lane === undefined) return;
    this.#underWay++;
    // One round of the event loop gathers everything that has arrived by then.
    setImmediate(() => void this.#work(lane).catch(stopTheServer));
  }

  #kickHeartbeats(): void {
    const lanes = this.#options.store.heartbeatLanes;
    if (lanes === null) return;
    this.#kickLine(this.#heartbeats, (batch) => this.#flushFree(lanes.first, batch));
    this.#kickLine(this.#heldUp, (batch) => this.#flushHeldUp(lanes.waiting, batch));
  }

  #kickLine(line: HeartbeatLine, decide: (batch: readonly Waiting[]) => Promise<void>): void {
    if (line.isUnderWay || line.queue.size === 0) return;
    line.isUnderWay = true;
    this.#underWay++;
    const work = async (): Promise<void> => {
      await decide(line.queue.take(FLUSH_WEIGHT));
      line.isUnderWay = false;
      this.#leave();
    };
    setImmediate(() => void work().catch(stopTheServer));
  }

  /** Decides what it can without waiting for anybody's row. */
  async #flushFree(lane: number, batch: readonly Waiting[]): Promise<void> {
    const heldUp = new Set<Waiting>();
    await this.#flush(lane, batch, (waiting) => {
      const { queue } = this.#heldUp;
      if (queue.isFullFor(waiting.actor, LIMITS.pendingCommands)) return waiting.reject(overloaded());
      queue.push(waiting);
      heldUp.add(waiting);
    });
    this.#hearing.decided(heldUp.size === 0 ? batch : batch.filter((waiting) => !heldUp.has(waiting)));
  }

  /** Waits for whoever holds the rows. Where that takes too long, those that came free meanwhile are decided all the same. */
  async #flushHeldUp(lane: number, batch: readonly Waiting[]): Promise<void> {
    try {
      answer(batch, await this.#attempt(lane, batch, null), null);
    } catch (error) {
      if (this.#options.store.trouble() === null)
        await this.#flush(lane, batch, ({ reject }) => reject(error));
      else for (const { reject } of batch) reject(error);
    }
    this.#hearing.decided(batch);
  }

  async #work(lane: number): Promise<void> {
    if (this.#mayRunAlone() && (this.#next.of === 'alone' || !this.#hasCommands())) {
      await this.#runAlone(lane);
    } else if (this.#hasCommands()) {
      this.#next.of = 'alone';
      await this.#flushNext(lane);
    }
    this.#freeLanes.push(lane);
    this.#leave();
  }

  #leave(): void {
    this.#underWay--;
    this.#kickHeartbeats();
    if (this.#hasCommands() || this.#mayRunAlone()) this.#kick();
    else if (this.#underWay === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** Whether there is something that a free lane may do now. */
  #hasCommands(): boolean {
    if (this.#commands.size > 0 || this.#beatsAmongCommands()) return true;
    return this.#claims.size > 0 && !this.#claiming;
  }

  #beatsAmongCommands(): boolean {
    return this.#heartbeats.queue.size > 0 && this.#options.store.heartbeatLanes === null;
  }

  /** Where there are several lanes, one is always left for commands. */
  #mayRunAlone(): boolean {
    if (this.#transactions.size === 0 && this.#duties.size === 0) return false;
    return this.#aloneUnderWay < Math.max(1, this.#options.store.lanes - 1);
  }

  async #runAlone(lane: number): Promise<void> {
    const [first, second] =
      this.#next.alone === 'duties' ? [this.#duties, this.#transactions] : [this.#transactions, this.#duties];
    const [next] = first.size > 0 ? first.take(1) : second.take(1);
    this.#next = { of: 'commands', alone: this.#next.alone === 'duties' ? 'transactions' : 'duties' };
    this.#aloneUnderWay++;
    await next?.run(lane);
    this.#aloneUnderWay--;
  }

  async #flushNext(lane: number): Promise<void> {
    const heartbeats = this.#beatsAmongCommands() ? this.#heartbeats.queue.take(FLUSH_WEIGHT) : [];
    const claims = this.#claiming ? [] : this.#claims.take(FLUSH_WEIGHT);
    const least = this.#options.store.lanes > 1 && !this.#passedOver ? 0 : FLUSH_WEIGHT / 2;
    const others = this.#commands.take(Math.max(least, FLUSH_WEIGHT - weightOfAll(claims)));
    this.#passedOver = others.length === 0 && this.#commands.size > 0;
    if (claims.length > 0) this.#claiming = true;
    if (this.#hasCommands()) this.#kick();
    await this.#flush(lane, this.#withWaiters([...heartbeats, ...claims, ...others]));
    if (claims.length > 0) this.#claiming = false;
    if (heartbeats.length > 0) this.#hearing.decided(heartbeats);
  }

  /** A job for which somebody waits is made and handed out in one commit instead of two. */
  #withWaiters(batch: Waiting[]): Waiting[] {
    const made = new Map<string, number>();
    for (const { commands } of batch) {
      for (const command of commands) {
        if (command.kind !== 'create') continue;
        for (const { asked } of command.jobs) made.set(asked.target, (made.get(asked.target) ?? 0) + 1);
      }
    }
    const room = HANDED_OVER / made.size;
    const waiting = [...made].flatMap(([target, count]) =>
      this.#options.handOver(target, Math.min(count, Math.floor(room))),
    );
    const claims = waiting.map(
      ({ claim, done }): Waiting => ({
        actor: claim.actor,
        weight: 0,
        commands: [claim],
        handedOver: true,
        resolve: ([answer]) => done(answer as ClaimNextAnswer),
        reject: () => done(null),
      }),
    );
    // They have waited longer than whoever claims only now.
    return [...claims, ...batch];
  }

  async #flush(lane: number, batch: readonly Waiting[], passedOver: PassedOver | null = null): Promise<void> {
    try {
      answer(batch, await this.#attempt(lane, batch, passedOver), passedOver);
    } catch (error) {
      if (error instanceof SpineError) for (const waiting of batch) waiting.reject(error);
      else await this.#flushHalves(lane, batch, passedOver);
    }
  }

  /**
   * After an unexpected error only the guilty caller fails. It is looked for in halves: a flush for each of a thousand
   * would keep all others waiting for seconds.
   */
  async #flushHalves(lane: number, batch: readonly Waiting[], passedOver: PassedOver | null): Promise<void> {
    const [first] = batch;
    if (first !== undefined && batch.length === 1) return this.#flushAlone(lane, first, passedOver);
    const half = Math.ceil(batch.length / 2);
    await this.#flush(lane, batch.slice(0, half), passedOver);
    await this.#flush(lane, batch.slice(half), passedOver);
  }

  async #flushAlone(lane: number, waiting: Waiting, passedOver: PassedOver | null): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return answer([waiting], await this.#attempt(lane, [waiting], passedOver), passedOver);
      } catch (error) {
        if (error instanceof SpineError || tries === TRIES_ALONE) return waiting.reject(error);
      }
    }
  }

  async #attempt(
    lane: number,
    batch: readonly Waiting[],
    passedOver: PassedOver | null,
  ): Promise<readonly Answer[]> {
    const { store, now, laneKey, newToken, mail, monoMs } = this.#options;
    const commands = batch.flatMap((waiting) => waiting.commands);
    for (;;) {
      const routing = await this.#options.routing();
      const settings = {
        now: now(),
        laneKey: laneKey(lane),
        routing,
        audience: await this.#options.audience(),
        parking: this.#parking,
        shared: store.dialect === 'postgres',
        newToken,
        mail,
        handsOver: batch.some(({ handedOver }) => handedOver),
        passesOver: passedOver !== null,
      };
      let decided: Flushed | null = null;
      const work = async (tx: Tx): Promise<Flushed> => (decided = await flush(tx, commands, settings));
      try {
        const beganMs = monoMs();
        const { answers, effects } = await store.transaction(lane, work);
        this.#options.onFlushed(answers, monoMs() - beganMs);
        this.#options.onEffects(effects);
        return answers;
      } catch (error) {
        this.#rememberUnknown(error, commands, decided);
        if (!(error instanceof StaleRouting)) throw error;
        this.#options.forgetRouting();
      }
    }
  }

  #rememberUnknown(error: unknown, commands: readonly Command[], decided: Flushed | null): void {
    if (decided === null || !(error instanceof SpineError) || error.code !== 'outcome_unknown') return;
    this.#options.onUnknown(commands, decided.answers);
  }

  async #transact<T>(lane: number, work: (tx: Tx, changeSet: ChangeSet) => Promise<T>): Promise<T> {
    const { store, now, laneKey } = this.#options;
    const audience = await this.#options.audience();
    const changeSet = new ChangeSet(now());
    const value = await store.transaction(lane, async (tx) => {
      const made = await work(tx, changeSet);
      await changeSet.save(tx, laneKey(lane), audience);
      return made;
    });
    this.#options.onEffects(changeSet.effects);
    return value;
  }
}

function answer(batch: readonly Waiting[], answers: readonly Answer[], passedOver: PassedOver | null): void {
  let next = 0;
  for (const waiting of batch) {
    const own = answers.slice(next, (next += waiting.commands.length));
    // A row that others hold, and one that is not there, look alike from here.
    if (passedOver !== null && own.every((each) => !each.ok && each.code === 'not_found'))
      passedOver(waiting);
    else waiting.resolve(own);
  }
}

function weightOfAll(batch: readonly Waiting[]): number {
  return batch.reduce((sum, { weight }) => sum + weight, 0);
}

function overloaded(): SpineError {
  return new SpineError('overloaded', { retryAfterS: 1 });
}

/** A lane that was lost would hold up all others for ever: as an exception the error ends the server in good order. */
function stopTheServer(error: unknown): void {
  setImmediate(() => {
    throw error;
  });
}
