/** A noun's columns, each said once: what is selected, how a row is read and how one is written come from one list. */

import { generatedFunction } from '../../domain/generated-function.ts';
import type { ColumnType, Row, Shape, Sql } from './driver.ts';

/** A flag is kept as 0 or 1, and `json` as its text. */
type Kind = ColumnType | 'flag' | 'json';
/** What a field's column holds; with the column's name where that is not the field's own. */
type Rule = Kind | readonly [column: string, kind: Kind];

/** How some of the fields are written. */
export interface Written<T> {
  readonly shape: Shape;
  readonly row: (value: T) => Row;
}

export interface Table<T> extends Written<T> {
  /** The columns to select, in the order that `from` reads them. */
  readonly selected: string;
  readonly width: number;
  /** Reads a row whose first column stands at `at`. */
  from(row: Row, at?: number): T;
  /** Writes only these; an update finds its row by the first of them. */
  only<K extends keyof T>(...names: readonly K[]): Written<Pick<T, K>>;
  /** For a table that is numbered by the database. */
  unnumbered(): Written<Omit<T, 'no'>>;
}

export function tableOf<T extends object>(
  table: string,
  rules: { readonly [K in keyof T]-?: Rule },
): Table<T> {
  const fields = Object.entries<Rule>(rules).map(([name, rule]) => {
    const [column, kind] = typeof rule === 'string' ? [snakeCase(name), rule] : rule;
    return { name, column, kind };
  });
  const written = <Some>(has: (name: string) => boolean): Written<Some> => {
    const some = fields.filter(({ name }) => has(name));
    const values = some.map(({ name, kind }) => stored(kind, `value.${name}`));
    return {
      shape: { table, columns: some.map(({ column, kind }) => [column, columnType(kind)]) },
      row: generatedFunction(['value'], `[${values.join(', ')}]`) as (value: Some) => Row,
    };
  };
  const reading = fields.map(({ name, kind }, i) => `${name}: ${read(kind, `row[at + ${i}]`)}`);
  const from = generatedFunction(['row', 'at'], `({ ${reading.join(', ')} })`) as (row: Row, at: number) => T;
  return {
    ...written<T>(() => true),
    selected: fields.map(({ column }) => `${table}.${column}`).join(', '),
    width: fields.length,
    from: (row, at = 0) => from(row, at),
    only: (...names) => written((name) => (names as readonly string[]).includes(name)),
    unnumbered: () => written((name) => name !== 'no'),
  };
}

/** Inserts values as they are written. */
export function insertInto<T>(sql: Sql, { shape, row }: Written<T>, values: readonly T[]) {
  return sql.insert(
    shape,
    values.map((value) => row(value)),
  );
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function columnType(kind: Kind): ColumnType {
  if (kind === 'flag') return 'smallint';
  return kind === 'json' ? 'text' : kind;
}

function stored(kind: Kind, value: string): string {
  if (kind === 'flag') return `${value} ? 1 : 0`;
  return kind === 'json' ? `${value} === null ? null : JSON.stringify(${value})` : value;
}

function read(kind: Kind, value: string): string {
  if (kind === 'flag') return `${value} === 1`;
  return kind === 'json' ? `${value} === null ? null : JSON.parse(${value})` : value;
}
