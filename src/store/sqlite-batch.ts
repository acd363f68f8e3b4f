/**
 * Statements for rows: one for each, or one for many rows that are nearly alike, as those of a batch of jobs mostly are.
 * With one for each a job takes 33 % more processor time when it is drained in batches, 13 % more one by one
 * (`embedded-drain`), side by side on a shared 2-core machine.
 */

import type { Row, Shape, Value } from './sql/driver.ts';

export interface Batch {
  readonly text: string;
  readonly params: Value[];
}

export function insertText(shape: Shape): string {
  return cached(shape, 'insert', () => {
    const given = shape.given ?? [];
    const names = [...shape.columns, ...given].map(([name]) => name).join(', ');
    const values = [...shape.columns.map((_, i) => `$${i + 1}`), ...given.map(([, sql]) => sql)].join(', ');
    return `insert into ${shape.table} (${names}) values (${values}) ${shape.onConflict ?? ''}`;
  });
}

export function updateText(shape: Shape): string {
  return cached(shape, 'update', () => {
    const sets = settings(shape, (column) => `$${column + 1}`);
    return `update ${shape.table} set ${sets} where ${shape.columns[0]?.[0]} = $1`;
  });
}

/** One statement for all rows, or null when they differ in more than their key and one other column. */
export function updateBatch(shape: Shape, rows: readonly Row[]): Batch | null {
  const [first] = rows;
  if (first === undefined || rows.length === 1) return null;
  const varying = varyingColumn(rows, first);
  if (varying === 'several') return null;
  return varying === 'none' ? sameForAll(shape, rows, first) : oneVaries(shape, rows, first, varying);
}

/** Takes a third less than a statement for each. */
function sameForAll(shape: Shape, rows: readonly Row[], first: Row): Batch {
  const text = cached(shape, 'update many', () => {
    const sets = settings(shape, (column) => `$${column + 1}`);
    return `update ${shape.table} set ${sets} where ${shape.columns[0]?.[0]} in (select value from json_each($1))`;
  });
  return { text, params: [JSON.stringify(rows.map(([key]) => key)), ...first.slice(1)] };
}

/** As claims do, each of which has a token of its own. Takes a sixth less. */
function oneVaries(shape: Shape, rows: readonly Row[], first: Row, varying: number): Batch {
  const text = cached(shape, `update by ${varying}`, () => {
    // The one that varies is no parameter: those behind it move up.
    const place = (column: number): string => `$${column < varying ? column + 1 : column}`;
    const sets = settings(shape, (column) => (column === varying ? 'made.value' : place(column)));
    const key = `${shape.table}.${shape.columns[0]?.[0]}`;
    return `update ${shape.table} set ${sets} from json_each($1) as made where ${key} = cast(made.key as integer)`;
  });
  const pairs = rows.map((row) => `"${row[0]}":${JSON.stringify(row[varying])}`);
  const others = first.filter((_, column) => column > 0 && column !== varying);
  return { text, params: [`{${pairs.join(',')}}`, ...others] };
}

function settings(shape: Shape, valueOf: (column: number) => string): string {
  const sets = shape.columns.slice(1).map(([name], i) => `${name} = ${valueOf(i + 1)}`);
  return [...sets, ...(shape.derived === undefined ? [] : [shape.derived])].join(', ');
}

function varyingColumn(rows: readonly Row[], first: Row): number | 'none' | 'several' {
  let found: number | 'none' = 'none';
  for (const row of rows) {
    for (let column = 1; column < first.length; column++) {
      if (column === found || row[column] === first[column]) continue;
      if (found !== 'none') return 'several';
      found = column;
    }
  }
  return found;
}

const texts = new WeakMap<Shape, Map<string, string>>();

function cached(shape: Shape, statement: string, build: () => string): string {
  let made = texts.get(shape);
  if (made === undefined) texts.set(shape, (made = new Map<string, string>()));
  let text = made.get(statement);
  if (text === undefined) made.set(statement, (text = build()));
  return text;
}
