import { ok, strictEqual } from 'node:assert';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { GROWN_HEAP_FLAGS, HEAP_FLAGS } from '../../src/runtime/heap.ts';

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

/** V8 takes compiled code only from where the same flags were set; this names them all. */
const TAG = `
  import { boundHeap } from './src/runtime/heap.ts';
  import { cachedDataVersionTag, setFlagsFromString } from 'node:v8';
  const [bounded, ...flags] = process.argv.slice(1);
  if (bounded === 'bounded') boundHeap();
  for (const flag of flags) setFlagsFromString(flag);
  console.log(cachedDataVersionTag());
`;

test('what is compiled ahead under the flags of a server is what it takes, in each of their states', () => {
  const tag = (...args: readonly string[]): string =>
    execFileSync(process.execPath, ['--input-type=module', '-e', TAG, ...args], { encoding: 'utf8' });
  const [none, growing, grown] = [tag('free'), tag('free', ...HEAP_FLAGS), tag('free', ...GROWN_HEAP_FLAGS)];
  strictEqual(tag('bounded'), growing);
  strictEqual(tag('bounded', '--semi-space-growth-factor=1'), grown);
  strictEqual(tag('bounded', '--semi-space-growth-factor=2'), growing);
  strictEqual(new Set([none, growing, grown]).size, 3);
});
