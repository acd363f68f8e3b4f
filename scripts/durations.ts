/** How long test files may take, and in which order that lets them run. */
import { globSync } from 'node:fs';
import type { FileDuration } from './results.ts';

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
