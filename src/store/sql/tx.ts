/** The transaction's verbs, bound to one connection. */

import type { Tx } from '../store.ts';
import type { Sql } from './driver.ts';
import * as events from './events.ts';
import * as jobs from './jobs.ts';
import * as pools from './pools.ts';
import * as upkeep from './upkeep.ts';

type Verb = (sql: Sql, ...args: never[]) => unknown;

const VERBS = { ...jobs, ...events, ...pools, ...upkeep } satisfies Record<string, Verb>;

/** `notify` is the one verb that belongs to a database alone. */
export function transactionOver(sql: Sql, notify: Tx['notify']): Tx {
  const bound = Object.entries(VERBS).map(([name, verb]) => [name, (verb as (...args: unknown[]) => unknown).bind(null, sql)]);
  // The cast is safe as long as every verb of Tx is exported by one of the four files: a test calls each of them.
  return { ...(Object.fromEntries(bound) as Omit<Tx, 'notify'>), notify };
}
