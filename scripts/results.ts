/** Where `npm test` leaves what every test did and how long every file took, one JSON object on a line. */
export const RESULTS_FILE = '.cache/test-results.ndjson';

export interface TestResult {
  /** The test's own name after the names of the suites it stands in. */
  readonly name: string;
  readonly file: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  /** Why it was skipped. */
  readonly reason: string;
}

export interface FileDuration {
  readonly file: string;
  readonly durationMs: number;
}

export function parseResults(text: string): readonly TestResult[] {
  return parse(text).filter((line) => 'outcome' in line);
}

export function parseDurations(text: string): readonly FileDuration[] {
  return parse(text).filter((line) => 'durationMs' in line);
}

function parse(text: string): readonly (TestResult | FileDuration)[] {
  // Only our own reporter writes this file.
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as TestResult | FileDuration);
}
