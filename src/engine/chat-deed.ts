/** What a command of a chat does: found out before its commit, and done within it. */

import type { Tx } from '../store/store.ts';
import type { Telling } from './announcing.ts';
import type { ChangeSet } from './change-set.ts';

/** What is said to it, with what can be pressed below. */
export type Said = Omit<Telling, 'kind'>;

export interface Deed {
  readonly within: (tx: Tx, changeSet: ChangeSet) => Promise<Said>;
  /** Once that is durable. */
  readonly after?: () => void;
}

/** Nothing but an answer. */
export function saying(text: string): Deed {
  return { within: async () => ({ text }) };
}
