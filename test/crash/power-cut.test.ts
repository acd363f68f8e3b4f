import assert from 'node:assert/strict';
import { test } from 'node:test';
import { provePowerCut } from '../../proof/power-cut.ts';

test('a power cut at any moment loses no job, result or artifact that was acknowledged, and no journal that was said to be written', {
  timeout: 240_000,
}, async (t) => {
  const found = await provePowerCut({ cuts: 3, seed: 1, planted: false });
  if (typeof found === 'string') return t.skip(found);
  t.diagnostic(found.summary);
  assert.deepEqual(found.violations, [], found.summary);
});
