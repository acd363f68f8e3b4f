/** Says which features the last `npm test` has proven. A test's name carries the ids it proves: [SP-18 SP-20]. */
import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { assess, idRange, type FeatureReport, problemsOf } from './feature-report.ts';
import { parseResults, RESULTS_FILE } from './results.ts';

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      json: { type: 'boolean', default: false },
      require: { type: 'string', multiple: true, default: [] },
    },
  });
  const required = values.require.flatMap(idRange);
  const results = await readFile(RESULTS_FILE, 'utf8').catch((cause: unknown) => {
    throw new Error(`${RESULTS_FILE} is not there: run npm test first`, { cause });
  });
  const report = assess(await readFile('docs/features.tsv', 'utf8'), parseResults(results), required);
  console.log(values.json ? JSON.stringify(report, undefined, 2) : asText(report));
  const failing = report.features.some(({ state }) => state === 'failing');
  return failing || report.unknown.length > 0 || report.requiredButUnproven.length > 0 ? 1 : 0;
}

function asText(report: FeatureReport): string {
  const features = report.features.map(({ id, state, text }) => `${state.padEnd(8)} ${id}  ${text}`);
  const families = report.families.map(
    ({ family, proven, failing, missing }) =>
      `${family}: ${proven} proven, ${failing} failing, ${missing} missing`,
  );
  return [...features, '', ...families, ...problemsOf(report)].join('\n');
}

process.exitCode = await main();
