/** Measures this checkout against another: both alternate at every row, and a row that looks slower is looked at again. */

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Bench, Entrant, Size } from './bench.ts';
import { type Comparison, problemsOf, type Row, rowsOf, type Round } from './comparison.ts';
import type { Measured } from './phase.ts';

/** Rounds of a row that was below at first; what they say counts. */
export const SECOND_LOOK = 5;

export type Side = 'here' | 'there';
export type MeasureSide = (bench: Bench, entrant: Entrant, side: Side) => Promise<Measured>;

/** `known` are the benches of the other checkout: what it does not have cannot be compared. */
export async function compare(
  bench: Bench,
  known: readonly Bench[],
  runs: number,
  measure: MeasureSide,
): Promise<Comparison> {
  const theirs = known.find(({ name }) => name === bench.name)?.entrants.map(({ name }) => name) ?? [];
  const rows: Row[] = [];
  const unknown: string[] = [];
  const problems: string[] = [];
  const look = async (entrant: Entrant, rounds: number): Promise<Row[]> => {
    const taken = await alternate(bench, entrant, rounds, measure);
    problems.push(...problemsOf(entrant.name, taken));
    return rowsOf(entrant.name, bench.unit, taken);
  };
  for (const entrant of bench.entrants.filter(isOurs)) {
    if (!theirs.includes(entrant.name)) {
      unknown.push(entrant.name);
      continue;
    }
    const first = await look(entrant, runs);
    const again = runs < SECOND_LOOK && first.some(({ below }) => below);
    const second = again && problems.length === 0 ? await look(entrant, SECOND_LOOK) : first;
    rows.push(
      ...first.map((row) =>
        row.below ? (second.find(({ measure }) => measure === row.measure) ?? row) : row,
      ),
    );
  }
  const { name, title, unit = 'jobs/s' } = bench;
  return { bench: name, title, unit, rows, unknown, problems };
}

/** Each side is the first one in every other round. */
async function alternate(
  bench: Bench,
  entrant: Entrant,
  runs: number,
  measure: MeasureSide,
): Promise<Round[]> {
  const rounds: Round[] = [];
  for (let run = 0; run < runs; run++) {
    const order: readonly Side[] = run % 2 === 0 ? ['here', 'there'] : ['there', 'here'];
    const measured = new Map<Side, Measured>();
    for (const side of order) measured.set(side, await measure(bench, entrant, side));
    rounds.push({ here: taken(measured, 'here'), there: taken(measured, 'there') });
  }
  return rounds;
}

function taken(measured: ReadonlyMap<Side, Measured>, side: Side): Measured {
  return measured.get(side) ?? { rates: {}, problem: 'not measured' };
}

/** Our own product, and none of the peers. */
export function isOurs({ phase }: Entrant): boolean {
  return !('queue' in phase) || phase.queue.startsWith('Spine');
}

/** The lists of benches are plain data, so those of another checkout can be read here. */
export async function benchesOf(checkout: string, size: Size): Promise<readonly Bench[]> {
  const file = pathToFileURL(join(checkout, 'bench/benches/all.ts')).href;
  const { allBenches } = (await import(file)) as { readonly allBenches: (size: Size) => Bench[] };
  return allBenches(size);
}
