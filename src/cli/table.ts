import { styleText } from 'node:util';

/** Lines of columns aligned to their widest cell; the heads are bold where the terminal can show it. */
export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = heads.map((head, column) =>
    Math.max(head.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return [styleText('bold', line(heads)), ...rows.map(line)];
}
