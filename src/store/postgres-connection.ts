/** One PostgreSQL connection that speaks the stores' common SQL, with prepared statements and arrays for batches. */

import {
  type CustomTypesConfig,
  type QueryArrayConfig,
  type QueryArrayResult,
  types as driverTypes,
} from 'pg';
import { arrayOf, type Batch, insertBatch, updateBatch } from './postgres-batch.ts';
import type { KeyQuery, Row, Shape, Sql, Value } from './sql/driver.ts';

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
    if (rows.length > 0) await this.#send(insertBatch(shape, rows));
  }

  async insertNumbered(shape: Shape, rows: readonly Row[], id: string): Promise<number[]> {
    const place = shape.columns.findIndex(([name]) => name === id);
    const made = (await this.#send(insertBatch(shape, rows, `returning ${id}, no`))).rows as Row[];
    const numbers = new Map(made.map((row) => [row[0], row[1] as number]));
    return rows.map((row) => numbers.get(row[place] ?? null) as number);
  }

  async update(shape: Shape, rows: readonly Row[]): Promise<void> {
    if (rows.length > 0) await this.#send(updateBatch(shape, rows));
  }

  #send({ text, params }: Batch): Promise<QueryArrayResult> {
    return this.#query(text, params);
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
