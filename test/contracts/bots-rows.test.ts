import { deepStrictEqual } from 'node:assert';
import { globSync, readFileSync } from 'node:fs';
import { suite, test } from 'node:test';

/** How many rows each table of the text has: claims, lifecycle, retries, silence, Telegram. */
const TABLES = { C: 15, L: 13, R: 11, K: 7, T: 8 } as const;
const ROWS = Object.entries(TABLES).flatMap(([table, rows]) =>
  Array.from({ length: rows }, (_, i) => `${table}${i + 1}`),
);
/** What is not sent, and what is not printed: no store has a hand in it. */
const WITHOUT_STORE = ['T6', 'T7'];
const RUN_ON_BOTH =
  /onEvery\(\[?(?:DIALECTS|ENGINES|SQLITE_FILE, POSTGRES)|StartBots\)|skipWithoutPostgres\],/;

interface Named {
  readonly row: string;
  readonly file: string;
  readonly onBoth: boolean;
}

/** The rows that stand in brackets at the end of tests' names. */
const named: readonly Named[] = globSync('test/{contracts,engine,loops,domain,app,http}/*.ts').flatMap(
  (file) => {
    const source = readFileSync(file, 'utf8');
    const onBoth = RUN_ON_BOTH.test(source);
    const brackets = source.match(/\[(?:(?:[A-Z]{2}-\d\d|[CLRKT]\d{1,2}) ?)+\]['`]/g) ?? [];
    return brackets.flatMap((text) =>
      (text.match(/\b[CLRKT]\d{1,2}\b/g) ?? []).map((row) => ({ row, file, onBoth })),
    );
  },
);

suite('the tables of the text', () => {
  test('every row is named by a test', () => {
    deepStrictEqual(
      ROWS.filter((row) => !named.some((each) => each.row === row)),
      [],
    );
  });

  test('no test names a row that is not there', () => {
    deepStrictEqual(
      named.filter(({ row }) => !ROWS.includes(row)),
      [],
    );
  });

  test('every row is shown on both stores, where a store has a hand in it', () => {
    deepStrictEqual(
      ROWS.filter((row) => !named.some((each) => each.row === row && each.onBoth)),
      WITHOUT_STORE,
    );
  });
});
