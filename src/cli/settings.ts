import { table } from './table.ts';

interface SettingRow {
  readonly name: string;
  readonly value: string | null;
  readonly origin: string;
}

/** What `spine config` prints. */
export function settingLines(rows: readonly SettingRow[], json: boolean): string[] {
  if (json) return [JSON.stringify(rows, null, 2)];
  return table(
    ['setting', 'value', 'from'],
    rows.map(({ name, value, origin }) => [name, value ?? '-', origin]),
  );
}
