/** Which sets of requirements the claimers of a flush can meet: each is a line of ready jobs of its own. */

import { FIRST_SET, missingCapabilities, nextSet } from '../domain/capabilities.ts';
import type { ClaimNext } from '../domain/command.ts';
import { LIMITS } from '../domain/limits.ts';
import type { Tx } from '../store/store.ts';

export class RequirementSets {
  readonly #tx: Tx;
  readonly #known = new Map<string, readonly string[]>();

  constructor(tx: Tx) {
    this.#tx = tx;
  }

  /** Looks them up, once for all claimers who can do the same. Whoever says no capabilities costs nothing. */
  async look(commands: readonly ClaimNext[]): Promise<void> {
    for (const { targets, terms } of commands) {
      if (terms.capabilities.length === 0) continue;
      for (const target of targets) {
        const key = keyOf(target, terms.capabilities);
        if (!this.#known.has(key)) this.#known.set(key, await this.#find(target, terms.capabilities));
      }
    }
  }

  /** Those that somebody with these capabilities can meet. */
  of(target: string, capabilities: readonly string[]): readonly string[] {
    return capabilities.length === 0 ? NONE : (this.#known.get(keyOf(target, capabilities)) ?? NONE);
  }

  async #find(target: string, capabilities: readonly string[]): Promise<string[]> {
    const sets: string[] = [];
    let from: string | null = FIRST_SET;
    for (let looks = 0; looks < LIMITS.requirementLooks && sets.length < LIMITS.requirementSets; looks++) {
      const found: string | null = from === null ? null : await this.#tx.jobs.firstRequirement(target, from);
      if (found === null) break;
      if (missingCapabilities({ requires: found }, capabilities).length === 0) sets.push(found);
      from = nextSet(found, capabilities);
    }
    return sets;
  }
}

const NONE: readonly string[] = [];

function keyOf(target: string, capabilities: readonly string[]): string {
  return JSON.stringify([target, ...capabilities]);
}
