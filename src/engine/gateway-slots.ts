/** The slots of gateways inside a claim: how many jobs the servers together may run at one gateway. */

import type { ClaimNext } from '../domain/command.ts';
import type { Job } from '../domain/job.ts';
import { gatewayPool } from '../domain/pool.ts';
import type { Tx } from '../store/store.ts';

export class FreeGatewaySlots {
  readonly #tx: Tx;
  /** Of each gateway with a limit: those that this flush has locked. */
  readonly #free = new Map<string, number[]>();

  constructor(tx: Tx) {
    this.#tx = tx;
  }

  /** Before any job is looked at: one that is locked and left again would wake those who cannot take it either. */
  async reserve(commands: readonly ClaimNext[]): Promise<void> {
    for (const { gatewaySlots, max } of commands) {
      if (gatewaySlots === null || this.#free.has(gatewaySlots.target)) continue;
      const { target, count } = gatewaySlots;
      this.#free.set(target, await this.#tx.pools.freeGatewaySlots(gatewayPool(target), count, max));
    }
  }

  /** How many jobs the claim may take now. */
  most({ gatewaySlots, max }: ClaimNext): number {
    return gatewaySlots === null ? max : Math.min(max, this.#free.get(gatewaySlots.target)?.length ?? 0);
  }

  async take({ gatewaySlots }: ClaimNext, { no }: Job): Promise<void> {
    if (gatewaySlots === null) return;
    const idx = this.#free.get(gatewaySlots.target)?.shift();
    if (idx === undefined)
      throw new Error(`${gatewaySlots.target} lost its free slot within one transaction`);
    await this.#tx.pools.takeSlots([{ pool: gatewayPool(gatewaySlots.target), idx, jobNo: no }]);
  }
}
