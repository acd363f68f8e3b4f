import { ok } from 'node:assert';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

/** How many integration tests Spine v0 had. */
const V0_TESTS = 47;

test('the contract is held by more integration tests than v0 had, on each store [SP-41]', () => {
  const sources = globSync('test/contracts/spine-*.ts').map((file) => readFileSync(file, 'utf8'));
  const tests = sources.join('\n').match(/^\s+test\(/gm) ?? [];
  ok(tests.length > V0_TESTS, `only ${tests.length} tests are left`);
});
