import assert from 'node:assert/strict';
import { test } from 'node:test';
import { proveDiskFull } from '../../proof/disk-full.ts';

test('refuses writes on a full disk, reads on, loses nothing and recovers', {
  timeout: 240_000,
}, async (t) => {
  const found = await proveDiskFull({ cycles: 3 });
  if (typeof found === 'string') return t.skip(found);
  t.diagnostic(found.summary);
  assert.deepEqual(found.violations, [], found.summary);
});
