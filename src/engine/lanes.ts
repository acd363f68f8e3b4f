/** Lanes inside a claim: how many jobs the servers together may run at one gateway. */

import type { ClaimNext } from '../domain/command.ts';
import type { Job } from '../domain/job.ts';
import { lanePool } from '../domain/pool.ts';
import type { Tx } from '../store/store.ts';

export class FreeLanes {
  readonly #tx: Tx;
  /** Of each target that has lanes: those that this flush has locked. */
  readonly #free = new Map<string, number[]>();

  constructor(tx: Tx) {
    this.#tx = tx;
  }

  /** Before any job is looked at: one that is locked and left again would wake those who cannot take it either. */
  async reserve(commands: readonly ClaimNext[]): Promise<void> {
    for (const { lanes, max } of commands) {
      if (lanes === null || this.#free.has(lanes.target)) continue;
      const { target, count } = lanes;
      this.#free.set(target, await this.#tx.freeLanes(lanePool(target), count, max));
    }
  }

  /** How many jobs the claim may take now. */
  most({ lanes, max }: ClaimNext): number {
    return lanes === null ? max : Math.min(max, this.#free.get(lanes.target)?.length ?? 0);
  }

  async take({ lanes }: ClaimNext, { no }: Job): Promise<void> {
    if (lanes === null) return;
    const idx = this.#free.get(lanes.target)?.shift();
    if (idx === undefined) throw new Error(`${lanes.target} lost its free lane within one transaction`);
    await this.#tx.takeSlots([{ pool: lanePool(lanes.target), idx, jobNo: no }]);
  }
}
