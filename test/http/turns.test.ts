/** Whoever reads much waits for its turn and for room, whichever door it came through. */

import { deepStrictEqual, strictEqual } from 'node:assert';
import { test } from 'node:test';
import type { OpenEngine } from '../../src/engine/open-engine.ts';
import { openSqlite } from '../../src/store/sqlite.ts';
import { openServer } from './server.ts';

const HEAD = { name: 'head', role: 'head', targets: null } as const;

test('a thousand short numbers in a batch of ends are one look at the store, in their caller’s turn', async (t) => {
  const store = openSqlite({ file: ':memory:', identity: 'http' });
  const { engine, left } = await openServer(t, undefined, { store });
  for (let i = 0; i < 3; i++) await makeJob(engine, { target: i === 2 ? 'right-claw' : 'left-claw' });
  const looks = (['byNo', 'named'] as const).map((verb) => t.mock.method(store.read.jobs, verb).mock);
  const jobs = Array.from({ length: 1_000 }, (_, i) => ({ id: String(1 + (i % 5)) }));
  const { status, body } = await left.post<{ results: { error: string }[] }>('/jobs/complete-batch', {
    jobs: [...jobs.slice(0, 999), { id: '../etc' }],
  });
  strictEqual(status, 200);
  deepStrictEqual(
    [...body.results.slice(0, 5), ...body.results.slice(-1)].map(({ error }) => error),
    ['not_owner', 'not_owner', 'forbidden', 'not_found', 'not_found', 'not_found'],
  );
  strictEqual(
    looks.reduce((sum, look) => sum + look.callCount(), 0),
    1,
  );
});

async function makeJob(engine: OpenEngine, draft: object): Promise<string> {
  const { jobs } = await engine.jobs.create(HEAD, [{ target: 'any', ...draft }]);
  return jobs[0]?.id ?? '';
}
