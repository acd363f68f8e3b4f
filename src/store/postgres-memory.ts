/** Rows of running jobs are locked without being read, where this server wrote them last. */

import type { Job } from '../domain/job.ts';
import type { PostgresConnection } from './postgres-connection.ts';
import { arrayOf } from './postgres-batch.ts';
import type { RowMemory } from './row-memory.ts';
import type { Change, Tx } from './store.ts';

/** PostgreSQL's own mark of who wrote a row: any write since then, by anybody, changed it. */
type Writer = string;
/** A row names the lower half of the transaction's number. */
const WRITER_BITS = 0xffff_ffffn;

export interface KnownRow {
  readonly job: Job;
  readonly writer: Writer;
}

interface LockTexts {
  readonly each: string;
  /** Locks all, and answers how many of them have this writer: a thousand rows need not be sent for that. */
  readonly ofOne: string;
}

// The same order as everywhere: two commits never deadlock.
function lockTexts(clause: string): LockTexts {
  return {
    each: `select no, xmin::text from job where no = any($1::bigint[]) order by no ${clause}`,
    ofOne: `select count(*) from (
  select xmin from job where no = any($1::bigint[]) order by no ${clause}
) as locked where xmin::text = $2`,
  };
}
const ALL = lockTexts('for update');
const FREE = lockTexts('for update skip locked');

/** A transaction's verbs that remember the running jobs they wrote, once that is durable. */
export class RememberingTx {
  readonly tx: Tx;
  readonly #memory: RowMemory<KnownRow>;
  readonly #plain: Tx;
  readonly #connection: PostgresConnection;
  #written: Job[] = [];

  constructor(plain: Tx, connection: PostgresConnection, memory: RowMemory<KnownRow>) {
    this.#plain = plain;
    this.#connection = connection;
    this.#memory = memory;
    this.tx = {
      ...plain,
      jobs: {
        ...plain.jobs,
        lock: (ids) => this.#lock(ids, ALL, plain.jobs.lock),
        lockFree: (ids) => this.#lock(ids, FREE, plain.jobs.lockFree),
        update: (changes) => this.#update(changes),
      },
    };
  }

  /** The transaction is durable: what it wrote is worth remembering. */
  committed(xid: string): void {
    const writer = String(BigInt(xid) & WRITER_BITS);
    for (const job of this.#written) this.#memory.keep(job.id, { job, writer });
    this.#written = [];
  }

  /** It was rolled back, or nobody knows. */
  undone(): void {
    this.#written = [];
  }

  /** Known rows are locked without being read; those that somebody wrote since are read under the lock. */
  async #lock(ids: readonly string[], texts: LockTexts, read: Tx['jobs']['lock']): Promise<Job[]> {
    const known = ids.flatMap((id) => this.#memory.take(id) ?? []);
    if (known.length < ids.length) return read(ids);
    const nos = known.map(({ job }) => job.no);
    const writer = known[0]?.writer ?? '';
    // Whoever ends many at once has claimed them at once.
    if (known.every((row) => row.writer === writer)) {
      const [count] = await this.#connection.all(texts.ofOne, [arrayOf(nos, 'bigint'), writer]);
      if (count?.[0] === nos.length) return known.map(({ job }) => job);
    }
    const rows = await this.#connection.all(texts.each, [arrayOf(nos, 'bigint')]);
    const writers = new Map(rows.map(([no, by]) => [no, by]));
    const changed = nos.filter((no, i) => writers.has(no) && writers.get(no) !== known[i]?.writer);
    const same = known.filter((row) => writers.get(row.job.no) === row.writer).map(({ job }) => job);
    return changed.length === 0 ? same : [...same, ...(await this.#plain.jobs.lockByNo(changed))];
  }

  async #update(changes: readonly Change[]): Promise<void> {
    this.#written.push(...changes.map(({ after }) => after).filter((job) => job.state === 'running'));
    await this.#plain.jobs.update(changes);
  }
}
