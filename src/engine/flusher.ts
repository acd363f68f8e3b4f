/** Group commit: whatever arrives while a flush is under way shares the next one, and each caller gets its own durable answer. */

import type {
  Accepted,
  ClaimNext,
  ClaimNextAnswer,
  Command,
  Create,
  CreateAnswer,
} from '../domain/command.ts';
import { type Refusal, SpineError } from '../domain/error.ts';
import { LIMITS } from '../domain/limits.ts';
import type { Routing, Store, Tx } from '../store/store.ts';
import { type Answer, flush, StaleRouting } from './flush.ts';
import { type Effects, Ledger, type OutboxPolicy } from './ledger.ts';
import type { HandedOver } from './waiters.ts';

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

interface Waiting {
  /** Commands that belong into one flush. */
  readonly commands: readonly Command[];
  /** A claim that waited for such jobs as the flush makes. */
  readonly handedOver?: boolean;
  readonly resolve: (answers: readonly Answer[]) => void;
  readonly reject: (error: unknown) => void;
}

export interface FlusherOptions {
  readonly store: Store;
  readonly now: () => number;
  /** Names this server's lanes in shared counters. */
  readonly laneKey: (lane: number) => string;
  readonly outbox: OutboxPolicy;
  readonly routing: () => Promise<Routing>;
  readonly forgetRouting: () => void;
  readonly onEffects: (effects: Effects) => void;
  /** Waiting claims for new jobs of a target, to be decided in the flush that makes them. */
  readonly handOver: (target: string, jobs: number) => readonly HandedOver[];
}

export class Flusher {
  readonly #options: FlusherOptions;
  readonly #freeLanes: number[];
  readonly #parking = new Set<string>();
  #queue: Waiting[] = [];
  /**
   * Those who ask for the next jobs. One lane at a time serves them: two would look at the same heads, and each pass
   * over all that the other has locked.
   */
  #claims: Waiting[] = [];
  #claiming = false;
  /** Work that wants a transaction to itself, e.g. settling. */
  #alone: ((lane: number) => Promise<void>)[] = [];
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

  /** Commands that are decided in one flush, one after another. */
  submitTogether(commands: readonly Command[]): Promise<readonly Answer[]> {
    if (this.#stopping) return Promise.reject(new SpineError('shutting_down'));
    if (this.pending >= LIMITS.pendingCommands) {
      return Promise.reject(new SpineError('overloaded', { retryAfterS: 1 }));
    }
    return new Promise((resolve, reject) => {
      const queue = commands.some(({ kind }) => kind === 'claimNext') ? this.#claims : this.#queue;
      queue.push({ commands, resolve, reject });
      this.#kick();
    });
  }

  /** Runs `work` in a transaction of its own, with a ledger to write through. */
  transact<T>(work: (tx: Tx, ledger: Ledger) => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#alone.push(async (lane) => {
        try {
          resolve(await this.#transact(lane, work));
        } catch (error) {
          reject(error);
        }
      });
      this.#kick();
    });
  }

  /** Takes no more commands, and resolves when those under way are durable. */
  async stop(): Promise<void> {
    this.#stopping = true;
    if (this.#underWay === 0 && this.pending === 0 && this.#alone.length === 0) return;
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  get pending(): number {
    return this.#queue.length + this.#claims.length;
  }

  #kick(): void {
    const lane = this.#freeLanes.pop();
    if (lane === undefined) return;
    this.#underWay++;
    // One turn of the event loop gathers everything that has arrived by then.
    setImmediate(() => void this.#work(lane));
  }

  async #work(lane: number): Promise<void> {
    const alone = this.#alone.shift();
    if (alone !== undefined) await alone(lane);
    else if (this.#hasCommands()) await this.#flushNext(lane);
    this.#freeLanes.push(lane);
    this.#underWay--;
    if (this.#hasCommands() || this.#alone.length > 0) this.#kick();
    else if (this.#underWay === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** Whether there is something that a free lane may do now. */
  #hasCommands(): boolean {
    return this.#queue.length > 0 || (this.#claims.length > 0 && !this.#claiming);
  }

  async #flushNext(lane: number): Promise<void> {
    const claims = this.#claiming ? [] : takeUpTo(this.#claims, FLUSH_WEIGHT);
    // What does not fit is for the next lane. With a single one, claims without end must not keep out all others.
    const least = this.#options.store.lanes > 1 ? 0 : FLUSH_WEIGHT / 2;
    const others = takeUpTo(this.#queue, Math.max(least, FLUSH_WEIGHT - weightOfAll(claims)));
    if (claims.length > 0) this.#claiming = true;
    if (this.#hasCommands()) this.#kick();
    await this.#flush(lane, this.#withWaiters([...claims, ...others]));
    if (claims.length > 0) this.#claiming = false;
  }

  /** A job for which somebody waits is made and handed out in one commit instead of two. */
  #withWaiters(batch: Waiting[]): Waiting[] {
    const made = new Map<string, number>();
    for (const { commands } of batch) {
      for (const command of commands) {
        if (command.kind !== 'create') continue;
        for (const { target } of command.jobs) made.set(target, (made.get(target) ?? 0) + 1);
      }
    }
    const room = HANDED_OVER / made.size;
    const waiting = [...made].flatMap(([target, count]) =>
      this.#options.handOver(target, Math.min(count, Math.floor(room))),
    );
    const claims = waiting.map(
      ({ claim, done }): Waiting => ({
        commands: [claim],
        handedOver: true,
        resolve: ([answer]) => done(answer as ClaimNextAnswer),
        reject: () => done(null),
      }),
    );
    // They have waited longer than whoever claims only now.
    return [...claims, ...batch];
  }

  async #flush(lane: number, batch: readonly Waiting[]): Promise<void> {
    try {
      const answers = await this.#attempt(lane, batch);
      let next = 0;
      for (const { commands, resolve } of batch) resolve(answers.slice(next, (next += commands.length)));
    } catch (error) {
      if (error instanceof SpineError) for (const waiting of batch) waiting.reject(error);
      else for (const waiting of batch) await this.#flushAlone(lane, waiting);
    }
  }

  /** After an unexpected error each caller gets a flush to itself, so that only the guilty one fails. */
  async #flushAlone(lane: number, waiting: Waiting): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return waiting.resolve(await this.#attempt(lane, [waiting]));
      } catch (error) {
        if (error instanceof SpineError || tries === TRIES_ALONE) return waiting.reject(error);
      }
    }
  }

  async #attempt(lane: number, batch: readonly Waiting[]): Promise<readonly Answer[]> {
    const { store, now, laneKey, outbox } = this.#options;
    const commands = batch.flatMap((waiting) => waiting.commands);
    for (;;) {
      const routing = await this.#options.routing();
      const settings = {
        now: now(),
        laneKey: laneKey(lane),
        routing,
        outbox,
        parking: this.#parking,
        shared: store.dialect === 'postgres',
        handsOver: batch.some(({ handedOver }) => handedOver),
      };
      try {
        const { answers, effects } = await store.transaction(lane, (tx) => flush(tx, commands, settings));
        this.#options.onEffects(effects);
        return answers;
      } catch (error) {
        if (!(error instanceof StaleRouting)) throw error;
        this.#options.forgetRouting();
      }
    }
  }

  async #transact<T>(lane: number, work: (tx: Tx, ledger: Ledger) => Promise<T>): Promise<T> {
    const { store, now, laneKey, outbox } = this.#options;
    const ledger = new Ledger(now());
    const value = await store.transaction(lane, async (tx) => {
      const made = await work(tx, ledger);
      await ledger.save(tx, laneKey(lane), outbox);
      return made;
    });
    this.#options.onEffects(ledger.effects);
    return value;
  }
}

/** Takes the first ones, at least one while there is room, until they weigh that much. */
function takeUpTo(queue: Waiting[], weight: number): Waiting[] {
  let left = weight;
  let count = 0;
  while (count < queue.length && left > 0) left -= weightOfOne(queue[count++] as Waiting);
  return queue.splice(0, count);
}

function weightOfAll(batch: readonly Waiting[]): number {
  return batch.reduce((sum, waiting) => sum + weightOfOne(waiting), 0);
}

function weightOfOne({ commands }: Waiting): number {
  return commands.reduce((sum, command) => sum + weightOf(command), 0);
}

function weightOf(command: Command): number {
  if (command.kind === 'create') return command.jobs.length;
  return command.kind === 'claimNext' ? command.max : 1;
}
