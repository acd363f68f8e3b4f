/** Many rows in one statement: a column travels as an array, or once when all rows agree on it. */

import type { ColumnType, Row, Shape, Value } from './sql/driver.ts';

export interface Batch {
  readonly text: string;
  readonly params: Value[];
}

/** Which columns differ between the rows, as a word of '1' (differs) and '0' (the same in all). */
type Pattern = string;

/** Every pattern is a statement that each connection plans once; rows of a rare pattern use a known, wider one. */
const PATTERNS = 16;
const patterns = new WeakMap<Shape, Pattern[]>();

export function insertBatch(shape: Shape, rows: readonly Row[], returning = ''): Batch {
  const pattern = patternOf(shape, rows);
  const text = cached(shape, `insert ${pattern} ${returning}`, () => {
    const { names, values, source } = parts(shape, pattern);
    for (const [name, sql] of shape.given ?? []) {
      names.push(name);
      values.push(sql);
    }
    const end = [shape.onConflict, returning].filter(Boolean).join(' ');
    return `insert into ${shape.table} (${names.join(', ')}) select ${values.join(', ')} from ${source} ${end}`;
  });
  return { text, params: paramsOf(shape, rows, pattern) };
}

export function updateBatch(shape: Shape, rows: readonly Row[]): Batch {
  const pattern = patternOf(shape, rows);
  const text = cached(shape, `update ${pattern}`, () => {
    const { names, values, source } = parts(shape, pattern);
    const sets = names.slice(1).map((name, i) => `${name} = ${values[i + 1]}`);
    if (shape.derived !== undefined) sets.push(shape.derived);
    const update = `update ${shape.table} set ${sets.join(', ')}`;
    // Rows that all get the same are found in one walk along the index, a third cheaper than one by one.
    if (pattern.lastIndexOf('1') === 0)
      return `${update} where ${names[0]} = any($1::${shape.columns[0]?.[1]}[])`;
    return `${update} from ${source} where ${shape.table}.${names[0]} = made.${names[0]}`;
  });
  return { text, params: paramsOf(shape, rows, pattern) };
}

/** PostgreSQL's array literal, built here because the driver's own way costs a pattern match per element. */
export function arrayOf(values: readonly Value[], type: ColumnType): string {
  const parts = type === 'text' ? values.map(element) : values.map((value) => value ?? 'NULL');
  return `{${parts.join(',')}}`;
}

function element(value: Value): string {
  return value === null ? 'NULL' : quoted(String(value));
}

function quoted(text: string): string {
  return `"${text.includes('"') || text.includes('\\') ? text.replace(/["\\]/g, '\\$&') : text}"`;
}

/** The first column always counts as differing: there must be one array that says how many rows there are. */
function patternOf(shape: Shape, rows: readonly Row[]): Pattern {
  let own = '';
  for (let column = 0; column < shape.columns.length; column++) {
    own += column === 0 || differs(rows, column) ? '1' : '0';
  }
  let known = patterns.get(shape);
  if (known === undefined) patterns.set(shape, (known = ['1'.repeat(shape.columns.length)]));
  if (known.includes(own)) return own;
  if (known.length < PATTERNS) {
    known.push(own);
    return own;
  }
  return narrowest(known, own);
}

function differs(rows: readonly Row[], column: number): boolean {
  const value = rows[0]?.[column];
  for (const row of rows) if (row[column] !== value) return true;
  return false;
}

/** The known pattern with the fewest arrays that has one wherever these rows differ. */
function narrowest(known: readonly Pattern[], own: Pattern): Pattern {
  const marks = own.split('');
  const fits = known.filter((pattern) => marks.every((mark, i) => mark === '0' || pattern[i] === '1'));
  const arrays = (pattern: Pattern): number => pattern.replaceAll('0', '').length;
  return fits.reduce((best, pattern) => (arrays(pattern) < arrays(best) ? pattern : best));
}

function paramsOf(shape: Shape, rows: readonly Row[], pattern: Pattern): Value[] {
  const params: Value[] = [];
  for (let column = 0; column < shape.columns.length; column++) {
    const type = shape.columns[column]?.[1] ?? 'text';
    const values = (): Value[] => rows.map((row) => row[column] ?? null);
    params.push(pattern[column] === '1' ? arrayOf(values(), type) : (rows[0]?.[column] ?? null));
  }
  return params;
}

function parts(shape: Shape, pattern: Pattern): { names: string[]; values: string[]; source: string } {
  const columns = shape.columns.map(([name, type], i) => ({
    name,
    type,
    place: `$${i + 1}`,
    array: pattern[i] === '1',
  }));
  const arrays = columns.filter((column) => column.array);
  const unnested = arrays.map(({ place, type }) => `${place}::${type}[]`).join(', ');
  return {
    names: columns.map((column) => column.name),
    values: columns.map(({ name, type, place, array }) => (array ? `made.${name}` : `${place}::${type}`)),
    source: `unnest(${unnested}) as made (${arrays.map((column) => column.name).join(', ')})`,
  };
}

const texts = new WeakMap<Shape, Map<string, string>>();

function cached(shape: Shape, key: string, build: () => string): string {
  let made = texts.get(shape);
  if (made === undefined) texts.set(shape, (made = new Map<string, string>()));
  let text = made.get(key);
  if (text === undefined) made.set(key, (text = build()));
  return text;
}
