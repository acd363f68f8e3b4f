/** The little that differs between the two databases. Everything above it is one SQL text for both. */

export type Value = string | number | null;
export type Row = Value[];
export type MaybePromise<T> = T | Promise<T>;

export type ColumnType = 'bigint' | 'smallint' | 'text';

/** A table as rows are written to it: column names with their types, in the order of the values. */
export interface Shape {
  readonly table: string;
  readonly columns: readonly (readonly [name: string, type: ColumnType])[];
  /** What to do when the row is there already, e.g. `on conflict (job_no) do update set …`. */
  readonly onConflict?: string;
  /** What an update sets besides its values, from the row as it was, e.g. `ended_token = lease_token`. */
  readonly derived?: string;
  /** What a new row gets besides its values, by SQL. */
  readonly given?: readonly (readonly [name: string, sql: string])[];
}

/** One connection inside (or outside) a transaction. Parameters are written $1, $2 … in both dialects. */
export interface Sql {
  readonly dialect: 'sqlite' | 'postgres';
  all(text: string, params: readonly Value[]): MaybePromise<Row[]>;
  /** Returns how many rows changed. */
  run(text: string, params: readonly Value[]): MaybePromise<number>;
  /**
   * Runs `one` for every key on SQLite, and `many` once with all keys as an array ($1) on PostgreSQL:
   * each is the faster way there. Where there is `listed`, SQLite too runs it once, with a JSON array.
   */
  byKeys(query: KeyQuery, keys: readonly (string | number)[]): MaybePromise<Row[]>;
  insert(shape: Shape, rows: readonly Row[]): MaybePromise<void>;
  /** Inserts rows into a table numbered by the database; answers their numbers in order. `id` is a unique column. */
  insertNumbered(shape: Shape, rows: readonly Row[], id: string): MaybePromise<number[]>;
  /** Updates rows by their first column. */
  update(shape: Shape, rows: readonly Row[]): MaybePromise<void>;
}

export interface KeyQuery {
  readonly one: string;
  readonly many: string;
  /** For reads of many rows outside of a transaction, where SQLite takes and gives back its lock for each statement. */
  readonly listed?: string;
}

/** Rows of a table by a number that is their key. */
export function byNumber(select: string, column: string, rest = ''): KeyQuery {
  return {
    one: `${select} where ${column} = $1 ${rest}`,
    many: `${select} where ${column} = any($1::bigint[]) ${rest}`,
    listed: `${select} where ${column} in (select value from json_each($1)) ${rest}`,
  };
}

/** Row locks exist on PostgreSQL only; on SQLite the writer is alone by design. */
export function locking(sql: Pick<Sql, 'dialect'>, clause: string): string {
  return sql.dialect === 'postgres' ? ` ${clause}` : '';
}

/** Builds a statement's text once per dialect. */
export function perDialect<T>(build: (dialect: Sql['dialect']) => T): (sql: Pick<Sql, 'dialect'>) => T {
  const made: Partial<Record<Sql['dialect'], T>> = {};
  return (sql) => (made[sql.dialect] ??= build(sql.dialect));
}
