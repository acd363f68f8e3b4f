import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { openJournal } from '../../src/files/journal.ts';
import { readJournal } from '../../src/files/journal-read.ts';
import { openProjection } from '../../src/files/projection.ts';
import { rebuild } from '../../src/import/rebuild.ts';
import { drain, everything, makeDir, openBench } from './fixture.ts';

const WORKER = fileURLToPath(new URL('worker.ts', import.meta.url));
const KILLS = 8;

test('after many kill -9 in the middle of writing, journal and files hold every event once [SP-37 SP-39]', async () => {
  const dir = makeDir();
  for (let i = 0; i < KILLS; i++) {
    const worker = spawn(process.execPath, [WORKER, dir], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(worker.stdout, 'data');
    // The moment of the kill is what is tested, so it is spread, not waited for.
    await sleep(20 + 55 * i);
    worker.kill('SIGKILL');
    await once(worker, 'exit');
  }
  await using bench = openBench(dir);
  const journal = await openJournal({
    dir: path.join(dir, 'journal'),
    store: bench.store,
    clock: bench.clock,
  });
  strictEqual(journal.setAside, null);
  await drain(journal);
  await journal.close();
  await drain(await openProjection({ dir, store: bench.store, clock: bench.clock }));
  const all = await everything(bench.store);
  ok(all.length > 20, `only ${all.length} jobs`);

  for (const { job, events } of all) {
    const lines = readFileSync(path.join(dir, 'events', `${job.id}.jsonl`), 'utf8')
      .trimEnd()
      .split('\n');
    deepStrictEqual(
      lines.map((line) => (JSON.parse(line) as { seq: number }).seq),
      events.map(({ seq }) => seq),
    );
    const document = JSON.parse(readFileSync(path.join(dir, 'jobs', `${job.id}.json`), 'utf8')) as {
      state: string;
    };
    strictEqual(document.state, job.state);
  }
  strictEqual(
    readdirSync(path.join(dir, 'jobs')).filter((name) => name.endsWith('.json')).length,
    all.length,
  );

  const other = openBench(dir, 'spine.db.new');
  const report = await rebuild({
    journal: readJournal(path.join(dir, 'journal')),
    store: other.store,
    dir,
    now: 0,
    defaults: { leaseMs: 1, maxAttempts: 1 },
  });
  deepStrictEqual(report.unreadable, []);
  deepStrictEqual(await everything(other.store), all);
  await other.store.close();
});
