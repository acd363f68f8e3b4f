import { deepStrictEqual, doesNotThrow, match, strictEqual, throws } from 'node:assert';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { benchesOf, compare, isOurs, type MeasureSide, SECOND_LOOK } from '../../bench/against.ts';
import type { Bench } from '../../bench/bench.ts';
import { allBenches } from '../../bench/benches/all.ts';
import { printedComparison, rowsOf, type Round } from '../../bench/comparison.ts';
import { optionsOf, refuseBuilt } from '../../bench/options.ts';
import type { Measured } from '../../bench/phase.ts';

const HERE = join(import.meta.dirname, '../..');
const size = { jobs: (full: number) => full, ms: (full: number) => full };

const bench: Bench = {
  name: 'verbs',
  title: 'Verbs',
  store: 'sqlite',
  entrants: [
    { name: 'Spine', phase: { phase: 'drain', queue: 'Spine', jobs: 1 } },
    { name: 'graphile', phase: { phase: 'drain', queue: 'graphile', jobs: 1 } },
  ],
  bars: [],
};

const measured = (rates: Record<string, number>): Measured => ({ rates, problem: null });
const round = (here: number, there: number): Round => ({
  here: measured({ drain: here }),
  there: measured({ drain: there }),
});

/** Measures what the script says, round by round; the last round goes on for ever. */
function scripted(rounds: readonly Round[]): { measure: MeasureSide; order: string[] } {
  const order: string[] = [];
  const count = { here: 0, there: 0 };
  const measure: MeasureSide = async (_bench, entrant, side) => {
    order.push(`${entrant.name} ${side}`);
    const next = rounds[Math.min(count[side]++, rounds.length - 1)];
    return next?.[side] ?? { rates: {}, problem: 'no script' };
  };
  return { measure, order };
}

test('the bench takes names, runs, a quick run and another checkout', () => {
  deepStrictEqual(optionsOf([]), { names: [], quick: false, runs: 3, against: null, without: null });
  deepStrictEqual(optionsOf(['files', '--quick', '--against', HERE]), {
    names: ['files'],
    quick: true,
    runs: 1,
    against: HERE,
    without: null,
  });
  strictEqual(optionsOf(['--runs', '5']).runs, 5);
  for (const runs of ['0', '101', '1.5', 'many'])
    throws(() => optionsOf(['--runs', runs]), /--runs .* 1 to 100/);
  throws(() => optionsOf(['--against', tmpdir()]), /no checkout of Spine/);
  strictEqual(optionsOf(['--without', 'nice-threads']).without, 'nice-threads');
  throws(() => optionsOf(['--without', 'all', '--against', HERE]), /do not go together/);
  throws(() => optionsOf(['--faster']), /--faster/);
});

test('a checkout with built files is refused: they might be older than its sources', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'spine-built-'));
  t.after(() => rmSync(folder, { recursive: true }));
  refuseBuilt(folder);
  mkdirSync(join(folder, 'dist/client'), { recursive: true });
  doesNotThrow(() => refuseBuilt(folder), 'the client alone is built by npm ci');
  writeFileSync(join(folder, 'dist/main.js'), '');
  throws(() => refuseBuilt(folder), /dist/);
});

test('a checkout without its packages is refused', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'spine-bare-'));
  t.after(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, 'bench'));
  writeFileSync(join(folder, 'bench/phase.ts'), '');
  throws(() => optionsOf(['--against', folder]), /npm ci/);
});

test('the ratio of a row is the median of those of its rounds, whatever the machine does between them', () => {
  const [row] = rowsOf('Spine', undefined, [round(100, 100), round(10, 20), round(99, 100)]);
  strictEqual(row?.ratio, 0.99);
  strictEqual(row.below, false);
  deepStrictEqual([row.low, row.high, row.rounds], [0.5, 1, 3]);
  strictEqual(rowsOf('Spine', undefined, [round(94, 100)])[0]?.below, true);
  strictEqual(rowsOf('Spine', undefined, [round(95, 100)])[0]?.below, false);
});

test('of times and sizes less is better, and a difference too small to matter is none', () => {
  strictEqual(rowsOf('latency', 'ms', [round(20, 10)])[0]?.ratio, 0.5);
  strictEqual(rowsOf('latency', 'ms', [round(20, 10)])[0]?.below, true);
  strictEqual(rowsOf('latency', 'ms', [round(10, 20)])[0]?.below, false);
  strictEqual(rowsOf('latency', 'ms', [round(1.05, 1)])[0]?.below, false);
  strictEqual(rowsOf('memory', 'MB', [round(4, 1)])[0]?.below, false);
});

test('a row that the other side did not measure counts as below', () => {
  const rounds = [{ here: measured({ drain: 1 }), there: measured({}) }];
  strictEqual(rowsOf('Spine', undefined, rounds)[0]?.below, true);
});

test('both checkouts alternate, each first in every other round, and the peers have none', async () => {
  const { measure, order } = scripted([round(100, 100)]);
  const { rows } = await compare(bench, [bench], 3, measure);
  deepStrictEqual(order, [
    'Spine here',
    'Spine there',
    'Spine there',
    'Spine here',
    'Spine here',
    'Spine there',
  ]);
  strictEqual(rows.length, 1);
});

test('a row below is measured again with five rounds, and those count', async () => {
  const slowOnce = scripted([round(50, 100), round(100, 100)]);
  const recovered = await compare(bench, [bench], 1, slowOnce.measure);
  strictEqual(slowOnce.order.length, 2 + 2 * SECOND_LOOK);
  deepStrictEqual([recovered.rows[0]?.below, recovered.rows[0]?.rounds], [false, SECOND_LOOK]);

  const slow = scripted([round(50, 100)]);
  const found = await compare(bench, [bench], 1, slow.measure);
  deepStrictEqual([found.rows[0]?.below, found.rows[0]?.ratio], [true, 0.5]);
  match(
    printedComparison(found),
    /\| Spine, drain \| 50 \| 100 \| 0\.50 \| .*5 rounds \| \*\*below 0\.95\*\* \|/,
  );

  const long = scripted([round(50, 100)]);
  await compare(bench, [bench], SECOND_LOOK, long.measure);
  strictEqual(long.order.length, 2 * SECOND_LOOK);
});

test('a second look cannot find fault with a row that was fine in the first', async () => {
  const both = (claim: number, complete: number): Round => ({
    here: measured({ claim, complete }),
    there: measured({ claim: 100, complete: 100 }),
  });
  const { measure } = scripted([both(50, 100), both(100, 50)]);
  const { rows } = await compare(bench, [bench], 1, measure);
  deepStrictEqual(
    rows.map(({ measure, ratio, rounds }) => [measure, ratio, rounds]),
    [
      ['claim', 1, SECOND_LOOK],
      ['complete', 1, 1],
    ],
  );
});

test('an entrant that the other checkout does not have is named, not measured', async () => {
  const { measure, order } = scripted([round(1, 1)]);
  const older = { ...bench, entrants: bench.entrants.slice(1) };
  const found = await compare(bench, [older], 1, measure);
  deepStrictEqual([found.unknown, found.rows, order], [['Spine'], [], []]);
  match(printedComparison(found), /Spine is not compared/);
});

test('work that went wrong on either side is said, and not measured again', async () => {
  const wrong = { here: measured({ drain: 1 }), there: { rates: {}, problem: '2 jobs missing' } };
  const { measure, order } = scripted([wrong]);
  const found = await compare(bench, [bench], 1, measure);
  deepStrictEqual(found.problems, ['Spine, there: 2 jobs missing']);
  strictEqual(order.length, 2);
});

test('every bench has rows of our own to compare, and a checkout can read those of another', async () => {
  const known = await benchesOf(HERE, size);
  deepStrictEqual(
    known.map(({ name }) => name),
    allBenches(size).map(({ name }) => name),
  );
  for (const each of known) strictEqual(each.entrants.some(isOurs), true, each.name);
});
