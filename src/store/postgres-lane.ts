/** A lane: one connection that runs one transaction after another, and is made anew when it breaks. */

import { SpineError } from '../domain/error.ts';
import { fateOf } from './postgres-fate.ts';
import { lost } from './postgres-errors.ts';
import { connectLine, type LaneLine } from './postgres-line.ts';
import type { KnownRow } from './postgres-memory.ts';
import type { Backend } from './postgres-session.ts';
import type { PostgresWatch } from './postgres-watch.ts';
import type { RowMemory } from './row-memory.ts';
import type { Tx } from './store.ts';

/**
 * The transaction's number comes with the first answer, at the cost of no round trip. Without it nobody could ask what
 * became of a commit that was not answered.
 */
const BEGIN = 'begin; select pg_current_xact_id()::text';
/** What a caller may have to wait for the word on a commit, from the transaction's begin on. */
const FATE_KNOWN_MS = 4_000;

export class PostgresLane {
  readonly #url: string;
  readonly #memory: RowMemory<KnownRow>;
  readonly #watch: PostgresWatch;
  #line: Promise<LaneLine> | null = null;

  constructor(url: string, memory: RowMemory<KnownRow>, watch: PostgresWatch) {
    this.#url = url;
    this.#memory = memory;
    this.#watch = watch;
  }

  async transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    this.#watch.check();
    const line = await this.#connected();
    const { tx } = line.remembering;
    const knownBy = this.#watch.clock.now() + FATE_KNOWN_MS;
    let decided: { readonly value: T; readonly xid: string } | null = null;
    try {
      // The connection is pipelined: nothing here waits for an answer that the next statement does not need.
      const begun = line.send({ text: BEGIN, rowMode: 'array' });
      tx.defer(begun);
      const value = await work(tx);
      const xid = xidIn(await begun);
      decided = { value, xid };
      await commit(line);
      line.remembering.committed(xid);
      return value;
    } catch (error) {
      line.remembering.undone();
      line.deferred.length = 0;
      await this.#recover(line, error);
      if (decided === null || !lost(error)) throw error;
      await this.#settle(decided.xid, line.backend, knownBy, error);
      return decided.value;
    } finally {
      line.waitingSince = null;
    }
  }

  async close(): Promise<void> {
    const line = await this.#line?.catch(() => null);
    this.#line = null;
    await line?.end();
  }

  #connected(): Promise<LaneLine> {
    this.#line ??= connectLine(this.#url, this.#memory, this.#watch, () => {
      this.#line = null;
    }).catch((error: unknown) => {
      this.#line = null;
      throw error;
    });
    return this.#line;
  }

  /** A connection whose state is unknown is thrown away: the server rolls back what it had begun. */
  async #recover(line: LaneLine, error: unknown): Promise<void> {
    const usable =
      !lost(error) &&
      (await line.send({ text: 'rollback', rowMode: 'array' }).then(
        () => true,
        () => false,
      ));
    if (usable) return;
    this.#line = null;
    line.cut();
  }

  /** The commit was sent and not answered. Resolves when it is there to stay, throws what the caller is to hear otherwise. */
  async #settle(xid: string, backend: Backend, knownBy: number, error: unknown): Promise<void> {
    this.#memory.forget();
    const fate = await fateOf(this.#watch, xid, backend, knownBy);
    if (fate === 'aborted') throw error;
    if (fate === 'unknown') throw new SpineError('outcome_unknown', {}, { cause: error });
  }
}

async function commit({ send, deferred, remembering }: LaneLine): Promise<void> {
  const committed = send({ text: 'commit', rowMode: 'array' });
  remembering.tx.defer(committed);
  await Promise.all(deferred.splice(0));
  if ((await committed).command !== 'COMMIT')
    throw new Error('the transaction was rolled back by the database');
}

/** Two statements in one text have two results, which the driver's types do not tell. */
function xidIn(begun: unknown): string {
  const [, numbered] = begun as readonly { readonly rows: readonly [[string]] }[];
  return numbered?.rows[0][0] as string;
}
