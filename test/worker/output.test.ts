/** What a session prints: its log, and what is kept of it. */

import { deepStrictEqual, match, strictEqual } from 'node:assert';
import { test } from 'node:test';
import { SessionOutput } from '../../src/worker/sessions/output.ts';

test('a session that floods fills its log once, and from then on only its end is kept [WK-18]', (t) => {
  const said: string[] = [];
  const output = new SessionOutput((text) => void said.push(text));
  const flood = Buffer.from('y\n'.repeat(30_000));
  output.add(flood, 'stdout');
  strictEqual(said.length, 20_001);
  match(said.at(-1) ?? '', /the rest of the output is left out/);
  const decoded = t.mock.method(TextDecoder.prototype, 'decode');
  for (let i = 0; i < 100; i++) output.add(flood, i % 2 === 0 ? 'stdout' : 'stderr');
  output.add(Buffer.from('the end\n'), 'stdout');
  output.flush();
  deepStrictEqual([decoded.mock.callCount(), said.length], [0, 20_001]);
  match(output.stdout, /^y\ny\n[^]*bytes left out[^]*y\nthe end\n$/);
});
