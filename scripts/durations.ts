/** How long each file of the last `npm test` took, and how long it should. */
import { globSync } from 'node:fs';

/** Where the reporter leaves them, one JSON object on a line. */
export const DURATIONS_FILE = '.cache/test-durations.ndjson';

export interface FileDuration {
  readonly file: string;
  readonly durationMs: number;
}

export function parseDurations(text: string): readonly FileDuration[] {
  // Only our own reporter writes this file.
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as FileDuration);
}

/** What a file may take that is not named below, beside two others on a machine that has nothing else to do. */
export const BUDGET_S = 10;

/**
 * The files that take longer, with their budgets. They are started first and the longest of them before all others, so
 * that at the end no processor waits for one file.
 */
export const LONG_FILES: Readonly<Record<string, number>> = {};

/** All test files, in the order in which they should start. */
export function testFiles(root: string): readonly string[] {
  const found = globSync('test/**/*.test.ts', { cwd: root }).map((file) => file.replaceAll('\\', '/'));
  return found.toSorted((a, b) => budgetOf(b) - budgetOf(a) || (a < b ? -1 : 1));
}

export function budgetOf(file: string): number {
  return LONG_FILES[file] ?? BUDGET_S;
}

const SHOWN = 10;

/** The slowest files, and a mark at those that took longer than they should: it is for people, and fails no run. */
export function slowest(durations: readonly FileDuration[]): string {
  const lines = durations
    .toSorted((a, b) => b.durationMs - a.durationMs)
    .slice(0, SHOWN)
    .map(({ file, durationMs }) => {
      const seconds = durationMs / 1_000;
      const over = seconds > budgetOf(file) ? `, over its budget of ${budgetOf(file)} s` : '';
      return `${seconds.toFixed(1).padStart(7)} s  ${file}${over}`;
    });
  return ['The slowest files:', ...lines].join('\n');
}
