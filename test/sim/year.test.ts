import assert from 'node:assert/strict';
import { test } from 'node:test';
import { proveYear } from '../../proof/year.ts';

/** One year that is known: others are for `npm run proof -- year`. */
test('a simulated year: every due tick runs once or is written down, through deaths, failures, outages and clock changes [SC-01 SC-04 SC-20]', async (t) => {
  const found = await proveYear({ schedules: 12, days: 365, seed: 7 });
  t.diagnostic(found.summary);
  assert.deepEqual(found.violations, [], found.summary);
  for (const trouble of ['deaths', 'missed', 'failed', 'putOff'])
    assert.ok((found.counts[trouble] ?? 0) > 0, `no ${trouble}: it proves nothing`);
});
