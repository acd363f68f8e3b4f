import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { DatabaseSync } from 'node:sqlite';
import { MIGRATIONS } from '../../src/store/migrations/index.ts';
import { openSqlite } from '../../src/store/sqlite.ts';

test('everything is in one SQLite database, in WAL mode, and a row cannot point at a job that is not there [SC-18 SC-76]', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'spine-one-'));
  try {
    const file = join(folder, 'spine.db');
    const store = openSqlite({ file, identity: 'test' });
    const looking = new DatabaseSync(file);
    const one = (text: string): unknown => Object.values(looking.prepare(text).get() ?? {})[0];
    assert.equal(one('pragma journal_mode'), 'wal');
    await assert.rejects(
      store.transaction(0, async (tx) => tx.comments.add([{ jobNo: 99, seq: 1, at: 1, by: 'w', text: 'x' }])),
      /FOREIGN KEY/,
    );
    for (const view of ['jobs', 'runs', 'messages', 'agents', 'delivery_aliases', 'approvals'])
      assert.equal(one(`select count(*) from ${view}`), 0, view);
    assert.equal(one('select count(*) from schema_migrations'), MIGRATIONS.length);
    looking.close();
    await store.close();
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.endsWith('.db')),
      ['spine.db'],
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
