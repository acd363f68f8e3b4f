/** The rows of running jobs are remembered: with one writer for the file, what it wrote last is what stands there. */

import type { Job } from '../domain/job.ts';
import { RowMemory } from './row-memory.ts';
import type { Change, Tx } from './store.ts';

export class RememberingTx {
  readonly tx: Tx;
  readonly #plain: Tx;
  readonly #memory = new RowMemory<Job>();
  #written: Job[] = [];

  constructor(plain: Tx) {
    this.#plain = plain;
    this.tx = {
      ...plain,
      jobs: { ...plain.jobs, lock: (ids) => this.#lock(ids), update: (changes) => this.#update(changes) },
    };
  }

  /** The transaction ended; what it wrote is worth remembering only if it is there to stay. */
  ended(durable: boolean): void {
    if (durable) for (const job of this.#written) this.#memory.keep(job.id, job);
    this.#written = [];
  }

  async #lock(ids: readonly string[]): Promise<Job[]> {
    const known: Job[] = [];
    const unknown: string[] = [];
    for (const id of ids) {
      const job = this.#memory.take(id);
      if (job === undefined) unknown.push(id);
      else known.push(job);
    }
    return unknown.length === 0 ? known : [...known, ...(await this.#plain.jobs.lock(unknown))];
  }

  #update(changes: readonly Change[]): Promise<void> {
    for (const { before, after } of changes) {
      // It may have been read by its number, and be remembered still as it was before.
      if (before.state === 'running') this.#memory.take(after.id);
      if (after.state === 'running') this.#written.push(after);
    }
    return this.#plain.jobs.update(changes);
  }
}
