import type { TestResult } from './results.ts';

/** What a whole run of the tests must prove. TQ-35 to TQ-39 are screens of the dashboard. */
export const REQUIRED: readonly string[] = [
  'SP-01..SP-41',
  'SC-01..SC-95',
  'WK-01..WK-45',
  'TQ-01..TQ-34',
  'TQ-40..TQ-48',
];

type State = 'proven' | 'failing' | 'missing';

interface Feature {
  readonly id: string;
  readonly text: string;
  readonly state: State;
  readonly tests: readonly string[];
}

type Family = { readonly family: string } & Readonly<Record<State, number>>;

export interface FeatureReport {
  readonly features: readonly Feature[];
  readonly families: readonly Family[];
  /** Ids in test names that no feature has: a typing error would otherwise prove nothing in silence. */
  readonly unknown: readonly string[];
  readonly requiredButUnproven: readonly string[];
}

/** Joins the table of features with the results of the tests that name them. */
export function assess(
  table: string,
  results: readonly TestResult[],
  required: readonly string[],
): FeatureReport {
  const tests = testsById(results);
  const features = table
    .split('\n')
    .slice(1)
    .filter(Boolean)
    .map((row) => {
      const [id = '', text = ''] = row.split('\t');
      const own = tests.get(id) ?? [];
      return { id, text, state: stateOf(own), tests: own.map(({ name }) => name) };
    });
  const known = new Set(features.map(({ id }) => id));
  const proven = new Set(features.filter(({ state }) => state === 'proven').map(({ id }) => id));
  return {
    features,
    families: countFamilies(features),
    unknown: [...tests.keys()].filter((id) => !known.has(id)),
    requiredButUnproven: required.filter((id) => !proven.has(id)),
  };
}

/** The ids of `REQUIRED` are proven by tests that ran and passed: a skipped one proves nothing. */
export function missingProofs(table: string, results: readonly TestResult[]): readonly string[] {
  const { unknown, requiredButUnproven } = assess(table, results, REQUIRED.flatMap(idRange));
  return problemsOf({ unknown, requiredButUnproven });
}

export function problemsOf({
  unknown,
  requiredButUnproven,
}: Pick<FeatureReport, 'unknown' | 'requiredButUnproven'>): readonly string[] {
  return [
    ...unknown.map((id) => `${id} is in a test's name but not in docs/features.tsv`),
    ...requiredButUnproven.map((id) => `${id} is required and not proven`),
  ];
}

/** `SP-01..SP-03` names three ids, `SP-07` one, and `all` those of `REQUIRED`. */
export function idRange(text: string): readonly string[] {
  if (text === 'all') return REQUIRED.flatMap(idRange);
  const match = /^([A-Z]{2})-(\d+)(?:\.\.\1-(\d+))?$/.exec(text);
  if (!match)
    throw new Error(`--require ${text}: expected an id such as SP-07, a range such as SP-01..SP-41, or all`);
  const [, family = '', first = '', last = first] = match;
  const ids: string[] = [];
  for (let n = Number(first); n <= Number(last); n += 1) {
    ids.push(`${family}-${String(n).padStart(first.length, '0')}`);
  }
  if (ids.length === 0) throw new Error(`--require ${text}: the range is empty`);
  return ids;
}

function testsById(results: readonly TestResult[]): Map<string, TestResult[]> {
  const tests = new Map<string, TestResult[]>();
  for (const result of results) {
    const brackets = result.name.match(/\[[^\]]*\]/g) ?? [];
    const ids = new Set(brackets.join(' ').match(/\b[A-Z]{2}-\d{2,}\b/g) ?? []);
    for (const id of ids) tests.set(id, [...(tests.get(id) ?? []), result]);
  }
  return tests;
}

function stateOf(tests: readonly TestResult[]): State {
  if (tests.some(({ outcome }) => outcome === 'failed')) return 'failing';
  return tests.some(({ outcome }) => outcome === 'passed') ? 'proven' : 'missing';
}

function countFamilies(features: readonly Feature[]): readonly Family[] {
  const byFamily = Object.groupBy(features, ({ id }) => id.slice(0, 2));
  return Object.entries(byFamily).map(([family, members = []]) => {
    const count = (state: State): number => members.filter((feature) => feature.state === state).length;
    return { family, proven: count('proven'), failing: count('failing'), missing: count('missing') };
  });
}
