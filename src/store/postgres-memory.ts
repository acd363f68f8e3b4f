/** Rows of running jobs are locked without being read, where this server wrote them last. */

import type { Job } from '../domain/job.ts';
import type { PostgresConnection } from './postgres-connection.ts';
import { arrayOf } from './postgres-batch.ts';
import type { RowMemory } from './row-memory.ts';
import type { Change, Tx } from './store.ts';

/** PostgreSQL's own mark of who wrote a row: any write since then, by anybody, changed it. */
type Writer = string;

export interface KnownRow {
  readonly job: Job;
  readonly writer: Writer;
}

// The same order as everywhere: two flushes never deadlock.
const LOCK = 'select no, xmin::text from job where no = any($1::bigint[]) order by no for update';
/** Locks all, and answers how many of them have this writer: a thousand rows need not be sent for that. */
const LOCK_OF_ONE = `select count(*) from (
  select xmin from job where no = any($1::bigint[]) order by no for update
) as locked where xmin::text = $2`;
const WRITER = 'select pg_current_xact_id()::xid::text';

/** A transaction's verbs that remember the running jobs they wrote, once that is durable. */
export class RememberingTx {
  readonly tx: Tx;
  readonly #memory: RowMemory<KnownRow>;
  readonly #plain: Tx;
  readonly #connection: PostgresConnection;
  #written: Job[] = [];
  #writer: Writer | null = null;

  constructor(plain: Tx, connection: PostgresConnection, memory: RowMemory<KnownRow>) {
    this.#plain = plain;
    this.#connection = connection;
    this.#memory = memory;
    this.tx = {
      ...plain,
      lockJobs: (ids) => this.#lockJobs(ids),
      updateJobs: (changes) => this.#updateJobs(changes),
    };
  }

  /** The transaction ended; what it wrote is worth remembering only if it is there to stay. */
  ended(durable: boolean): void {
    if (durable && this.#writer !== null)
      for (const job of this.#written) this.#memory.keep(job.id, { job, writer: this.#writer });
    this.#written = [];
    this.#writer = null;
  }

  /** Known rows are locked without being read; those that somebody wrote since are read under the lock. */
  async #lockJobs(ids: readonly string[]): Promise<Job[]> {
    const known = ids.flatMap((id) => this.#memory.take(id) ?? []);
    if (known.length < ids.length) return this.#plain.lockJobs(ids);
    const nos = known.map(({ job }) => job.no);
    const writer = known[0]?.writer ?? '';
    // Whoever ends many at once has claimed them at once.
    if (known.every((row) => row.writer === writer)) {
      const [count] = await this.#connection.all(LOCK_OF_ONE, [arrayOf(nos, 'bigint'), writer]);
      if (count?.[0] === nos.length) return known.map(({ job }) => job);
    }
    const rows = await this.#connection.all(LOCK, [arrayOf(nos, 'bigint')]);
    const writers = new Map(rows.map(([no, by]) => [no, by]));
    const changed = nos.filter((no, i) => writers.has(no) && writers.get(no) !== known[i]?.writer);
    const same = known.filter((row) => writers.get(row.job.no) === row.writer).map(({ job }) => job);
    return changed.length === 0 ? same : [...same, ...(await this.#plain.lockJobsByNo(changed))];
  }

  async #updateJobs(changes: readonly Change[]): Promise<void> {
    const running = changes.map(({ after }) => after).filter((job) => job.state === 'running');
    if (running.length > 0) {
      this.#written.push(...running);
      this.#plain.defer(
        this.#connection.all(WRITER, []).then(([row]) => (this.#writer = row?.[0] as Writer)),
      );
    }
    await this.#plain.updateJobs(changes);
  }
}
