/** One PostgreSQL connection that speaks the stores' common SQL, with prepared statements and arrays for batches. */

import {
  type CustomTypesConfig,
  type QueryArrayConfig,
  type QueryArrayResult,
  types as driverTypes,
} from 'pg';
import type { ColumnType, KeyQuery, Row, Shape, Sql, Value } from './sql/driver.ts';

/** Whole numbers arrive as numbers: ours are milliseconds and counts, far below 2^53. */
const NUMERIC_OIDS = new Set([20, 21, 23, 1700]);
export const types: CustomTypesConfig = {
  // The cast is needed because the driver's type asks for one signature per format.
  getTypeParser: parserFor as CustomTypesConfig['getTypeParser'],
};

function parserFor(oid: number, format?: 'text' | 'binary'): (text: string) => unknown {
  if (NUMERIC_OIDS.has(oid) && format !== 'binary') return Number;
  return driverTypes.getTypeParser(oid, format) as (text: string) => unknown;
}

export interface Queryable {
  query(config: QueryArrayConfig): Promise<QueryArrayResult>;
}

export class PostgresConnection implements Sql {
  readonly dialect = 'postgres';
  readonly #db: Queryable;

  constructor(db: Queryable) {
    this.#db = db;
  }

  async all(text: string, params: readonly Value[]): Promise<Row[]> {
    return (await this.#query(text, params)).rows as Row[];
  }

  async run(text: string, params: readonly Value[]): Promise<number> {
    return (await this.#query(text, params)).rowCount ?? 0;
  }

  async byKeys(query: KeyQuery, keys: readonly (string | number)[]): Promise<Row[]> {
    const type = typeof keys[0] === 'number' ? 'bigint' : 'text';
    return keys.length === 0 ? [] : this.all(query.many, [arrayOf(keys, type)]);
  }

  async insert(shape: Shape, rows: readonly Row[]): Promise<void> {
    if (rows.length > 0) await this.#query(insertText(shape), columnsOf(shape, rows));
  }

  async insertNumbered(shape: Shape, rows: readonly Row[], id: string): Promise<number[]> {
    const place = shape.columns.findIndex(([name]) => name === id);
    const made = await this.all(`${insertText(shape)} returning ${id}, no`, columnsOf(shape, rows));
    const numbers = new Map(made.map((row) => [row[0], row[1] as number]));
    return rows.map((row) => numbers.get(row[place] ?? null) as number);
  }

  /** The flush's number is drawn after the last row lock, so that flushes of one job are numbered in job order. */
  async insertFlush(at: number, shape: Shape, rows: readonly Row[]): Promise<void> {
    await this.#query(flushText(shape), [...columnsOf(shape, rows).slice(1), at]);
  }

  async update(shape: Shape, rows: readonly Row[]): Promise<void> {
    if (rows.length > 0) await this.#query(updateText(shape), columnsOf(shape, rows));
  }

  #query(text: string, values: readonly Value[]): Promise<QueryArrayResult> {
    return this.#db.query({ text, name: nameOf(text), values: values as Value[], rowMode: 'array' });
  }
}

const names = new Map<string, string>();

/** A short name per text, so that each connection parses and plans a statement once. */
function nameOf(text: string): string {
  let name = names.get(text);
  if (name === undefined) names.set(text, (name = `s${names.size}`));
  return name;
}

/** Rows turned into one array per column. */
function columnsOf(shape: Shape, rows: readonly Row[]): string[] {
  return shape.columns.map(([, type], column) =>
    arrayOf(
      rows.map((row) => row[column] ?? null),
      type,
    ),
  );
}

/** PostgreSQL's array literal, built here because the driver's own way costs a pattern match per element. */
function arrayOf(values: readonly Value[], type: ColumnType): string {
  if (type !== 'text') return `{${values.map((value) => value ?? 'NULL').join(',')}}`;
  return `{${values.map((value) => (value === null ? 'NULL' : quoted(String(value)))).join(',')}}`;
}

function quoted(text: string): string {
  return `"${text.includes('"') || text.includes('\\') ? text.replace(/["\\]/g, '\\$&') : text}"`;
}

type Kind = 'insert' | 'update' | 'flush';
const texts = new WeakMap<Shape, Partial<Record<Kind, string>>>();

function cached(shape: Shape, kind: Kind, build: () => string): string {
  let made = texts.get(shape);
  if (made === undefined) texts.set(shape, (made = {}));
  return (made[kind] ??= build());
}

function unnest(shape: Shape): string {
  return `unnest(${shape.columns.map(([, type], i) => `$${i + 1}::${type}[]`).join(', ')})`;
}

function insertText(shape: Shape): string {
  return cached(shape, 'insert', () => {
    const columns = shape.columns.map(([name]) => name).join(', ');
    return `insert into ${shape.table} (${columns}) select * from ${unnest(shape)} ${shape.onConflict ?? ''}`;
  });
}

function flushText(shape: Shape): string {
  return cached(shape, 'flush', () => {
    const [first, ...rest] = shape.columns;
    const names = rest.map(([name]) => name).join(', ');
    const under = unnest({ ...shape, columns: rest });
    return `with mine as (insert into flush (at) values ($${rest.length + 1}) returning no)
      insert into ${shape.table} (${first?.[0]}, ${names}) select mine.no, made.* from mine, ${under} as made (${names})`;
  });
}

function updateText(shape: Shape): string {
  return cached(shape, 'update', () => {
    const [key, ...rest] = shape.columns.map(([name]) => name);
    const sets = rest.map((name) => `${name} = changed.${name}`).join(', ');
    return `update ${shape.table} set ${sets} from ${unnest(shape)} as changed (${key}, ${rest.join(', ')}) where ${shape.table}.${key} = changed.${key}`;
  });
}
