/**
 * Knows whether the database answers, and whether it still works for those who wait. A connection whose other end is
 * gone without a word looks like one that is slow, so the question is asked beside it, on a connection of its own.
 */

import { Client, type QueryConfig } from 'pg';
import { SpineError } from '../domain/error.ts';
import type { Clock } from '../domain/ports.ts';
import { hasNoRoom, lost } from './postgres-errors.ts';
import {
  type Backend,
  backendOf,
  destroy,
  endPolitely,
  PIPELINED,
  REACHABLE,
  within,
} from './postgres-session.ts';
import { targetsIn, WAKE_CHANNEL } from './postgres-wake.ts';

/** A connection that the watch looks after. */
export interface Line {
  readonly backend: Backend;
  /** Since when an answer is awaited on it; null while none is. */
  waitingSince: number | null;
  /** Ends it at once; whoever waits hears of it. */
  cut(): void;
}

const LOOK_EVERY_MS = 500;
/** What a look takes on a machine that is busy with other things, and no more. */
const ANSWER_MS = 1_500;
const CONNECT_MS = 1_500;
/** Whoever has heard nothing for so long asks on a new connection too, and takes the first answer. */
const PATIENCE_MS = 500;
/** Whoever waits longer than this is asked about. */
const SILENT_MS = 1_000;
/** Once may be an answer that is on its way. */
const IDLE_LOOKS = 2;
const ABANDONED = 100;

const PING: QueryConfig = { text: 'select 1' };
const AT_WORK = "select pid from pg_stat_activity where pid = any($1::int[]) and state = 'active'";
const END = `
select pg_terminate_backend(pid) from pg_stat_activity
join unnest($1::int[], $2::text[]) as gone (no, since) on pid = no and backend_start = since::timestamptz`;

export class PostgresWatch {
  readonly #url: string;
  readonly #clock: Clock;
  /** How many looks in a row found that nobody works for the one who waits. */
  readonly #lines = new Map<Line, number>();
  readonly #onBack: (() => void)[] = [];
  /** Processes of the database for somebody who is gone: they may hold locks, and each takes the place of a connection. */
  #abandoned: Backend[] = [];
  #connection: Promise<Client> | null = null;
  /** One that is not open yet, and may never be, is to be let go of too. */
  readonly #clients = new WeakMap<Promise<Client>, Client>();
  /** Who serves the watch's own connections. */
  readonly #own = new WeakMap<Client, Backend>();
  #wake: ((targets: string[]) => void) | null = null;
  /** There was a connection before: hints may have been lost since. */
  #mayHaveMissed = false;
  #trouble: unknown = null;
  #cancel: () => void = () => undefined;
  #closed = false;

  constructor(url: string, clock: Clock) {
    this.#url = url;
    this.#clock = clock;
  }

  start(): void {
    this.#cancel = this.#clock.after(LOOK_EVERY_MS, () => void this.#look());
  }

  get clock(): Clock {
    return this.#clock;
  }

  get isAway(): boolean {
    return this.#trouble !== null;
  }

  /** Throws while the database does not answer: nobody has to wait for what is known to fail. */
  check(): void {
    if (this.#trouble !== null) throw new SpineError('store_unavailable', {}, { cause: this.#trouble });
  }

  onBack(listener: () => void): void {
    this.#onBack.push(listener);
  }

  enter(line: Line): void {
    this.#lines.set(line, 0);
  }

  leave(line: Line): void {
    this.#lines.delete(line);
  }

  /** The database is to end this connection's process: without a word from us it would not for hours. */
  abandon(backend: Backend): void {
    this.#abandoned = [...this.#abandoned, backend].slice(-ABANDONED);
  }

  async listen(wake: (targets: string[]) => void): Promise<void> {
    this.#wake = wake;
    // Where it fails, the next connection listens from its beginning.
    await this.ask({ text: `listen ${WAKE_CHANNEL}` }).catch(() => undefined);
  }

  /** Asks on the watch's own connection, and on a new one when that is broken or slow. */
  async ask(query: QueryConfig): Promise<unknown[][]> {
    const known = this.#connection;
    if (known === null) return this.#askAnew(query);
    const asked = this.#answer(known, query, ANSWER_MS);
    try {
      return await within(this.#clock, PATIENCE_MS, asked);
    } catch (error) {
      if (!lost(error)) throw error;
    }
    // A dead one and a slow one look the same: whatever comes of it, it is let go of then.
    if (this.#connection === known) this.#connection = null;
    this.#mayHaveMissed = true;
    asked.then(
      () => this.#drop(known),
      () => this.#cutIdle(),
    );
    return firstOf(asked, this.#askAnew(query));
  }

  async #askAnew(query: QueryConfig): Promise<unknown[][]> {
    // A connection that nobody closes would keep a server that has stopped.
    if (this.#closed) throw new SpineError('shutting_down');
    this.#connection ??= this.#connect();
    return this.#answer(this.#connection, query, CONNECT_MS);
  }

  /** Ends what was abandoned; what cannot be reached now is tried again at the next look. */
  async endAbandoned(): Promise<void> {
    const gone = this.#abandoned;
    if (gone.length === 0) return;
    await this.ask({
      text: END,
      values: [gone.map(({ pid }) => pid), gone.map(({ startedAt }) => startedAt)],
    });
    this.#abandoned = this.#abandoned.filter((backend) => !gone.includes(backend));
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancel();
    const client = await this.#connection?.catch(() => null);
    if (client) await endPolitely(client, this.#clock);
  }

  async #look(): Promise<void> {
    try {
      const waiting = [...this.#lines.keys()].filter((line) => this.#isSilent(line));
      if (waiting.length === 0) await this.ask(PING);
      else await this.#judge(waiting);
      await this.endAbandoned();
      this.#isThere();
    } catch (error) {
      this.#isNotThere(error);
    }
    if (!this.#closed) this.start();
  }

  #isSilent({ waitingSince }: Line): boolean {
    return waitingSince !== null && this.#clock.now() - waitingSince >= SILENT_MS;
  }

  /** A statement may take its time. A connection on which the database does nothing, while we wait, is dead. */
  async #judge(waiting: readonly Line[]): Promise<void> {
    const since = new Map(waiting.map((line) => [line, line.waitingSince]));
    const rows = await this.ask({ text: AT_WORK, values: [waiting.map(({ backend }) => backend.pid)] });
    const atWork = new Set(rows.map(([pid]) => pid));
    for (const line of waiting) {
      if (!this.#lines.has(line)) continue;
      const isIdle = !atWork.has(line.backend.pid) && line.waitingSince === since.get(line);
      const looks = isIdle ? (this.#lines.get(line) ?? 0) + 1 : 0;
      this.#lines.set(line, looks);
      if (looks < IDLE_LOOKS) continue;
      line.cut();
      this.#cutIdle();
    }
  }

  /** Connections seldom die alone. One that is not in use is made anew in a moment; its user would wait for seconds. */
  #cutIdle(): void {
    for (const line of this.#lines.keys()) if (line.waitingSince === null) line.cut();
  }

  #isThere(): void {
    if (this.#trouble === null) return;
    this.#trouble = null;
    // Hints may have been lost meanwhile.
    this.#wake?.([]);
    for (const listener of this.#onBack) listener();
  }

  #isNotThere(error: unknown): void {
    if (this.#closed || hasNoRoom(error)) return;
    this.#trouble = error;
    // Idle ones too: nobody should find out later that they are dead.
    for (const line of this.#lines.keys()) line.cut();
  }

  async #answer(connection: Promise<Client>, query: QueryConfig, limitMs: number): Promise<unknown[][]> {
    try {
      const asked = connection.then((client) => client.query({ ...query, rowMode: 'array' }));
      return (await within(this.#clock, limitMs, asked)).rows as unknown[][];
    } catch (error) {
      if (lost(error)) this.#drop(connection);
      throw error;
    }
  }

  #drop(connection: Promise<Client>): void {
    if (this.#connection === connection) this.#connection = null;
    this.#mayHaveMissed = true;
    const client = this.#clients.get(connection);
    if (client !== undefined) this.#giveUp(client);
  }

  #giveUp(client: Client): void {
    const backend = this.#own.get(client);
    // An error and the end both come here.
    if (backend !== undefined && this.#own.delete(client)) this.abandon(backend);
    destroy(client);
  }

  #connect(): Promise<Client> {
    const client = new Client({
      connectionString: this.#url,
      application_name: 'spine watch',
      ...REACHABLE,
      ...PIPELINED,
      connectionTimeoutMillis: CONNECT_MS,
    });
    const open = async (): Promise<Client> => {
      await client.connect();
      this.#own.set(client, await backendOf(client, this.#clock));
      if (this.#wake === null) return client;
      await client.query(`listen ${WAKE_CHANNEL}`);
      if (this.#mayHaveMissed) this.#wake([]);
      this.#mayHaveMissed = false;
      return client;
    };
    const connection = open();
    // Whoever asks hears of it; one that nobody asks on fails unheard.
    connection.catch(() => undefined);
    this.#clients.set(connection, client);
    const gone = (): void => this.#drop(connection);
    client.on('error', gone);
    client.on('end', gone);
    client.on('notification', ({ payload }) => {
      const targets = targetsIn(payload);
      if (targets !== null) this.#wake?.(targets);
    });
    return connection;
  }
}

/** What answers first; when neither does, why the second did not. */
async function firstOf<T>(one: Promise<T>, other: Promise<T>): Promise<T> {
  return await Promise.any([one, other]).catch(() => other);
}
