import type { Clock } from '../../src/domain/ports.ts';
import { type OpenEngine, openEngine } from '../../src/engine/open-engine.ts';
import { systemIds } from '../../src/runtime/ids.ts';
import type { Store, Tx } from '../../src/store/store.ts';
import type { Random } from '../random.ts';

export class Death extends Error {}

/** Engines over one store; each may die in the middle of a transaction, and another takes its place. */
export class Mortals {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #deathsPerTransaction: number;
  #engines: OpenEngine[];
  deaths = 0;

  constructor(store: Store, clock: Clock, random: Random, count: number, deathsPerTransaction: number) {
    this.#store = store;
    this.#clock = clock;
    this.#random = random;
    this.#deathsPerTransaction = deathsPerTransaction;
    this.#engines = Array.from({ length: count }, () => this.#born());
  }

  /** All of them at the same time, as servers are; those that die are replaced. */
  async all(work: (engine: OpenEngine) => Promise<unknown>): Promise<void> {
    this.#engines = await Promise.all(this.#engines.map((engine) => this.#survivor(engine, work)));
  }

  /** Whichever is first; the others are asleep. */
  async one(work: (engine: OpenEngine) => Promise<unknown>): Promise<void> {
    const at = this.#random.int(this.#engines.length);
    this.#engines[at] = await this.#survivor(this.#engines[at] as OpenEngine, work);
  }

  async #survivor(engine: OpenEngine, work: (engine: OpenEngine) => Promise<unknown>): Promise<OpenEngine> {
    try {
      await work(engine);
      return engine;
    } catch (error) {
      if (!(error instanceof Death)) throw error;
      this.deaths += 1;
      return this.#born();
    }
  }

  #born(): OpenEngine {
    return openEngine({
      store: this.#mortal(),
      clock: this.#clock,
      ids: systemIds(),
      settings: { leaseMs: 300_000, maxAttempts: 5, maxUnfinishedJobs: 10_000_000 },
    });
  }

  /** Dies just before the commit, so that all is undone, or just after it, so that nobody hears of it. */
  #mortal(): Store {
    const store = this.#store;
    const dies = (): boolean => this.#random.chance(this.#deathsPerTransaction / 2);
    const transaction = async <T>(lane: number, work: (tx: Tx) => Promise<T>): Promise<T> => {
      const value = await store.transaction(lane, async (tx) => {
        const made = await work(tx);
        if (dies()) throw new Death('before the commit');
        return made;
      });
      if (dies()) throw new Death('after the commit');
      return value;
    };
    return Object.assign(Object.create(store) as Store, {
      transaction,
      clockOffsetMs: () => 0,
      read: store.read,
      lanes: store.lanes,
      dialect: store.dialect,
    });
  }
}
