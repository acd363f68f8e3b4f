/** Gives the verbs of all nouns one connection, once, when it is opened. */

import * as reads from './reads/index.ts';
import type { Sql } from './sql/driver.ts';
import type { OwnVerbs, Reads, Tx } from './store.ts';
import * as writes from './tx/index.ts';

type Verbs = Readonly<Record<string, (sql: Sql, ...args: never[]) => unknown>>;

export function readsOver(sql: Sql): Reads {
  return bound(sql, reads) as Reads;
}

/** A transaction can ask whatever can be asked outside of one, too. */
export function transactionOver(sql: Sql, own: OwnVerbs): Tx {
  const nouns: Record<string, Verbs> = { ...reads };
  for (const [noun, verbs] of Object.entries<Verbs>(writes)) nouns[noun] = { ...nouns[noun], ...verbs };
  return { ...own, ...(bound(sql, nouns) as Tx) };
}

/** The types of `Reads` and `Tx` are made of these very modules, so whoever calls this knows what comes out. */
function bound(sql: Sql, nouns: Readonly<Record<string, Verbs>>): unknown {
  return map(nouns, (verbs) => map(verbs, (verb) => verb.bind(null, sql)));
}

function map<V, W>(values: Readonly<Record<string, V>>, to: (value: V) => W): Record<string, W> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, to(value)]));
}
