import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { copyFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { checkpointer } from '../../src/loops/keepers.ts';
import { openBench, HEAD } from '../files/fixture.ts';
import { startServer } from '../support/server.ts';

function jobsIn(file: string): unknown {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    return database.prepare('select count(*) as n from job').get()?.['n'];
  } finally {
    database.close();
  }
}

test('every hour the log is moved into the database file [SC-17]', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'spine-checkpoint-'));
  t.after(() => rmSync(folder, { recursive: true }));
  await using bench = openBench();
  const duty = checkpointer(bench.engine.core);
  assert.equal(duty.everyMs, 3_600_000);
  await duty.runOnce();
  await bench.engine.jobs.create(HEAD, [{ target: 'any' }]);
  const file = join(bench.dir, 'spine.db');
  /** The file without its log, as a plain copy has it. */
  const inFile = (): unknown => {
    copyFileSync(file, join(folder, 'alone.db'));
    return jobsIn(join(folder, 'alone.db'));
  };
  assert.equal(inFile(), 0);
  await duty.runOnce();
  assert.equal(inFile(), 1);
});

test('a server that stops leaves nothing in the log, also while somebody reads [SC-17]', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'spine-checkpoint-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const server = await startServer({ dataDir: folder });
  const file = join(folder, 'spine.db');
  await server.head.post('/jobs', { spec: 1 });
  await server.kill('SIGTERM');
  assert.ok(!existsSync(`${file}-wal`) || statSync(`${file}-wal`).size === 0);
  await server.restart();
  await server.head.post('/jobs', { spec: 2 });
  const reader = new DatabaseSync(file, { readOnly: true });
  reader.prepare('select 1 from job').get();
  await server.kill('SIGTERM');
  copyFileSync(file, join(folder, 'alone.db'));
  assert.equal(jobsIn(join(folder, 'alone.db')), 2);
  reader.close();
  await server.stop();
});
