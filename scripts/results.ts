/** Where `npm test` leaves what every test did, one JSON object on a line. */
export const RESULTS_FILE = '.cache/test-results.ndjson';

export interface TestResult {
  /** The test's own name after the names of the suites it stands in. */
  readonly name: string;
  readonly file: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  /** Why it was skipped. */
  readonly reason: string;
}

export function parseResults(text: string): readonly TestResult[] {
  // Only our own reporter writes this file.
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as TestResult);
}
