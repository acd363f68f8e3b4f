/** Aligned columns that fit the terminal. */

import { clean } from './clean.ts';
import { type Line, type Piece, styled, textOf } from './line.ts';
import { cut, widthOf } from './width.ts';

export interface Column {
  readonly head: string;
  readonly right?: boolean;
  /** Gives up its width first when there is too little. */
  readonly gives?: boolean;
}

const GAP = '  ';
const NARROWEST = 8;

export function table(
  columns: readonly Column[],
  rows: readonly (readonly Piece[])[],
  terminalColumns: number,
): Line[] {
  const heads = columns.map(({ head }) => styled('bold', head));
  const all = [heads, ...rows].map((row) => row.map(safe));
  const widths = fitted(columns, widest(columns.length, all), terminalColumns);
  return all.map((row) => row.flatMap((cell, index) => placed(cell, index, widths, columns)));
}

/** Cleaned before it is measured: an escaped control character is wider than it was. */
function safe(cell: Piece): Piece {
  const text = clean(textOf(cell));
  return typeof cell === 'string' ? text : { ...cell, text };
}

function widest(count: number, rows: readonly (readonly Piece[])[]): number[] {
  return Array.from({ length: count }, (_, index) =>
    rows.reduce((width, row) => Math.max(width, widthOf(textOf(row[index] ?? ''))), 0),
  );
}

/** The widest of the columns that may give goes first, so that names stay whole beside a long text. */
function fitted(columns: readonly Column[], widths: readonly number[], terminalColumns: number): number[] {
  const result = [...widths];
  let tooMuch = result.reduce((sum, width) => sum + width + GAP.length, -GAP.length) - terminalColumns;
  const givers = [...widths.entries()].filter(([index]) => columns[index]?.gives);
  for (const [index, width] of givers.toSorted(([, one], [, other]) => other - one)) {
    const given = Math.min(Math.max(0, tooMuch), Math.max(0, width - NARROWEST));
    result[index] = width - given;
    tooMuch -= given;
  }
  return result;
}

function placed(
  cell: Piece,
  index: number,
  widths: readonly number[],
  columns: readonly Column[],
): readonly Piece[] {
  const width = widths[index] ?? 0;
  const text = cut(textOf(cell), width);
  const space = ' '.repeat(width - widthOf(text));
  const shown: Piece = typeof cell === 'string' ? text : { ...cell, text };
  const isLast = index === widths.length - 1;
  const gap = isLast ? '' : GAP;
  return columns[index]?.right ? [space, shown, gap] : [shown, isLast ? '' : space, gap];
}
