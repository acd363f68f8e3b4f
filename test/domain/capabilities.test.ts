import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { FIRST_SET, missingCapabilities, nextSet } from '../../src/domain/capabilities.ts';

/** Among them names that bytes put in another order than JavaScript does. */
const NAMES = ['a', 'ab', 'a-', 'b', 'gpu', 'gpu2', 'ü', '\u{1d400}', '\uff21', 'z.9'];

function inBytes(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}

/** What a database would answer, which holds these sets. */
function walk(sets: readonly string[], capabilities: readonly string[]): string[] {
  const found: string[] = [];
  for (let from: string | null = FIRST_SET; from !== null; ) {
    const start: string = from;
    const set = sets.find((one) => inBytes(one, start) >= 0);
    if (set === undefined) break;
    if (missingCapabilities({ requires: set }, capabilities).length === 0) found.push(set);
    from = nextSet(set, capabilities);
    assert.ok(from === null || inBytes(from, set) > 0, `${from} is not behind ${set}`);
  }
  return found;
}

test('the walk through sets finds all that can be met, whatever the names and whatever else there is', () => {
  const some = (max: number) => fc.uniqueArray(fc.constantFrom(...NAMES), { maxLength: max });
  const set = some(4).filter((names) => names.length > 0);
  fc.assert(
    fc.property(fc.array(set, { maxLength: 30 }), some(6), (all, capabilities) => {
      const sets = [...new Set(all.map((names) => JSON.stringify(names.toSorted())))].toSorted(inBytes);
      const met = sets.filter((one) => missingCapabilities({ requires: one }, capabilities).length === 0);
      assert.deepEqual(walk(sets, capabilities), met);
    }),
  );
});

test('a family that begins with something the claimer lacks is passed over with one step', () => {
  assert.equal(nextSet('["gpu","model-1"]', ['zoom', 'gpu']), '["gpu","zoom"');
  assert.equal(nextSet('["gpu","zz"]', ['zoom', 'gpu']), '["gpu"]');
  assert.equal(nextSet('["zz"]', ['zoom', 'gpu']), null);
  assert.equal(nextSet('["gpu"]', ['zoom', 'gpu']), '["gpu"] ');
});
