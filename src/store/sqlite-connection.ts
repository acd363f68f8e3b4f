/** A strict connection over node:sqlite, which would bind missing parameters as NULL without a word. */

import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { KeyQuery, Row, Shape, Sql, Value } from './sql/driver.ts';
import { insertText, updateBatch, updateText } from './sqlite-batch.ts';

interface Prepared {
  readonly statement: StatementSync;
  /** Which parameter stands at each place of the text. */
  readonly places: readonly number[];
  /** How many parameters the text names. */
  readonly count: number;
  /** Each parameter stands once and in order, so the values can be bound as they come. */
  readonly inOrder: boolean;
}

export class SqliteConnection implements Sql {
  readonly dialect = 'sqlite';
  readonly database: DatabaseSync;
  readonly #prepared = new Map<string, Prepared>();

  constructor(file: string, options: { readOnly?: boolean } = {}) {
    this.database = new DatabaseSync(file, {
      readOnly: options.readOnly ?? false,
      enableForeignKeyConstraints: true,
      timeout: 5_000,
    });
    this.database.enableDefensive?.(true);
  }

  all(text: string, params: readonly Value[]): Row[] {
    const prepared = this.#prepare(text);
    return prepared.statement.all(...bind(prepared, params)) as unknown as Row[];
  }

  run(text: string, params: readonly Value[]): number {
    const prepared = this.#prepare(text);
    return Number(prepared.statement.run(...bind(prepared, params)).changes);
  }

  byKeys(query: KeyQuery, keys: readonly (string | number)[]): Row[] {
    if (query.listed !== undefined && keys.length > 1) return this.all(query.listed, [JSON.stringify(keys)]);
    const prepared = this.#prepare(query.one);
    const rows: Row[] = [];
    for (const key of keys) {
      const found = prepared.statement.all(...bind(prepared, [key])) as unknown as Row[];
      for (const row of found) rows.push(row);
    }
    return rows;
  }

  insert(shape: Shape, rows: readonly Row[]): void {
    const prepared = this.#prepare(insertText(shape));
    for (const row of rows) prepared.statement.run(...bind(prepared, row));
  }

  insertNumbered(shape: Shape, rows: readonly Row[]): number[] {
    const prepared = this.#prepare(insertText(shape));
    return rows.map((row) => Number(prepared.statement.run(...bind(prepared, row)).lastInsertRowid));
  }

  update(shape: Shape, rows: readonly Row[]): void {
    const batch = updateBatch(shape, rows);
    if (batch !== null) {
      this.run(batch.text, batch.params);
      return;
    }
    const prepared = this.#prepare(updateText(shape));
    for (const row of rows) prepared.statement.run(...bind(prepared, row));
  }

  #prepare(text: string): Prepared {
    let prepared = this.#prepared.get(text);
    if (prepared === undefined) {
      prepared = prepare(this.database, text);
      this.#prepared.set(text, prepared);
    }
    return prepared;
  }
}

/** Turns $1, $2 … into SQLite's anonymous places, remembering which value goes where. */
function prepare(database: DatabaseSync, text: string): Prepared {
  const places: number[] = [];
  const sqliteText = text.replace(/\$(\d+)/g, (_, digits: string) => {
    places.push(Number(digits) - 1);
    return '?';
  });
  const statement = database.prepare(sqliteText);
  statement.setReturnArrays(true);
  const count = places.length === 0 ? 0 : Math.max(...places) + 1;
  return { statement, places, count, inOrder: places.every((place, i) => place === i) };
}

function bind(prepared: Prepared, params: readonly Value[]): readonly Value[] {
  if (params.length !== prepared.count)
    throw new TypeError(`expected ${prepared.count} parameters, got ${params.length}`);
  // By index: an iterator makes an object for every value of every row.
  for (let i = 0; i < params.length; i++) {
    const value = params[i];
    if (value !== null && typeof value !== 'string' && !Number.isFinite(value))
      throw new TypeError(`cannot store ${String(value)}`);
  }
  return prepared.inOrder ? params : prepared.places.map((place) => params[place] ?? null);
}
