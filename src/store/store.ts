/**
 * What callers of the store may know. Its verbs are not listed here: each is declared once, where its SQL stands, in
 * reads/ and tx/, one file for each noun. Two stores exist, SQLite and PostgreSQL; one suite holds both to this.
 */

import type * as reads from './reads/index.ts';
import type { MaybePromise, Sql } from './sql/driver.ts';
import type * as writes from './tx/index.ts';

export type { PrintedRow } from './reads/jobs.ts';
export type { MaybePromise } from './sql/driver.ts';
export type { Change, NewRow } from './tx/jobs.ts';
export type { AttemptUsage } from './tx/usage.ts';

export interface Store {
  readonly dialect: 'sqlite' | 'postgres';
  /** How many transactions may be under way at once. */
  readonly lanes: number;
  /** Two more lanes, for heartbeats alone; null where a single one has to do for all. */
  readonly heartbeatLanes: HeartbeatLanes | null;
  /** Who this installation is; written when the database was made. */
  readonly identity: string;
  /** What must be added to this machine's clock to read the store's. */
  clockOffsetMs(): number;
  /** Measures that difference again. */
  syncClock(): Promise<void>;
  /** Brings the database file up to date with its log, where there is one. */
  checkpoint(): Promise<void>;
  /** Runs `work` in one transaction of the lane: all of it is durable when this resolves, or none of it happened. */
  transaction<T>(lane: number, work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Reads outside any transaction: only what is committed. */
  readonly read: Reads;
  /** The same for who calls, which every call has to know first: it waits behind no list of anybody's. */
  readonly readCallers: Reads;
  /** Why it cannot be used now, in words; null while it can. Known without asking it. */
  trouble(): string | null;
  /** Calls the listener each time that it can be used again. */
  onBack(listener: () => void): void;
  /** Calls `wake` when another server queued work. A hint: polling stays the truth. */
  listen(wake: (targets: string[]) => void): Promise<void>;
  close(): Promise<void>;
}

export interface HeartbeatLanes {
  /** For all of them: what others hold is passed over. */
  readonly first: number;
  /** For those that were passed over: here one may wait for whoever holds its job's row. */
  readonly waiting: number;
}

/** A way to look at the store from beside it. */
export interface Reader {
  readonly read: Reads;
  close(): Promise<void>;
}

/** The verbs of a noun as callers know them: without the connection. */
type Verbs<Noun> = {
  readonly [Verb in keyof Noun]: Noun[Verb] extends (sql: Sql, ...args: infer Args) => infer Answer
    ? (...args: Args) => Answer
    : never;
};
type VerbsOf<Nouns, Name> = Name extends keyof Nouns ? Verbs<Nouns[Name]> : unknown;

/** `read.jobs.byId(id)`: every verb of the nouns in reads/. */
export type Reads = { readonly [Name in keyof typeof reads]: Verbs<(typeof reads)[Name]> };

/** `tx.jobs.lock(ids)`: every verb of the nouns in tx/, and the reads, which see what this transaction has written. */
export type Tx = OwnVerbs & {
  readonly [Name in keyof typeof reads | keyof typeof writes]: VerbsOf<typeof reads, Name> &
    VerbsOf<typeof writes, Name>;
};

/** What each database does in its own way. */
export interface OwnVerbs {
  /** A write whose outcome nobody needs before the commit: it is waited for there, and a failure undoes everything. */
  defer(write: MaybePromise<unknown>): void;
  /** Tells other servers, after the commit, which targets have new work. */
  notify(targets: readonly string[]): MaybePromise<void>;
}
