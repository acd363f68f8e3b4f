/** In memory there is one connection for all: whoever reads waits for the transaction under way. */

import type { Sql } from './sql/driver.ts';

/** One after another, in the order of asking. */
export class Mutex {
  #last: Promise<unknown> = Promise.resolve();
  #busy = 0;

  hold<T>(work: () => Promise<T>): Promise<T> {
    this.#busy++;
    const mine = this.#busy === 1 ? work() : this.#last.then(work, work);
    this.#last = mine.then(
      () => this.#busy--,
      () => this.#busy--,
    );
    return mine;
  }
}

/** The same connection, each statement of which waits for the mutex. */
export function waitingSql(sql: Sql, mutex: Mutex): Sql {
  return {
    dialect: sql.dialect,
    all: (...args) => mutex.hold(async () => sql.all(...args)),
    run: (...args) => mutex.hold(async () => sql.run(...args)),
    byKeys: (...args) => mutex.hold(async () => sql.byKeys(...args)),
    insert: (...args) => mutex.hold(async () => sql.insert(...args)),
    insertNumbered: (...args) => mutex.hold(async () => sql.insertNumbered(...args)),
    update: (...args) => mutex.hold(async () => sql.update(...args)),
  };
}
