import { ok } from 'node:assert';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';

/** Much is made, and much of it lives for a while: what makes V8 enlarge the space for new objects. */
const CHURN = `
  import { boundHeap } from './src/runtime/heap.ts';
  import { getHeapSpaceStatistics } from 'node:v8';
  if (process.argv[1] === 'bounded') boundHeap();
  const kept = [];
  let largest = 0;
  for (let round = 0; round < 120; round++) {
    kept.push(Array.from({ length: 20_000 }, (_, i) => ({ i, text: 'x' + i })));
    if (kept.length > 16) kept.shift();
    await new Promise(setImmediate);
    const { space_size } = getHeapSpaceStatistics().find((space) => space.space_name === 'new_space');
    largest = Math.max(largest, space_size);
  }
  console.log(largest);
`;

test('the space for new objects stops growing at a size that hardly costs speed', () => {
  const largest = (how: string): number =>
    Number(
      execFileSync(process.execPath, ['--input-type=module', '-e', CHURN, how], {
        encoding: 'utf8',
        // The machine's memory sets V8's own limit; this is what it is on a large one.
        env: { ...process.env, NODE_OPTIONS: '--max-semi-space-size=64' },
      }),
    );
  const [bounded, free] = [largest('bounded'), largest('free')];
  ok(bounded < 70e6, `${bounded} bytes`);
  ok(free > bounded, `${free} bytes without a bound, ${bounded} with it`);
});
