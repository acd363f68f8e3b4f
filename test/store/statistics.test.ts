import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { SqliteConnection } from '../../src/store/sqlite-connection.ts';
import { openSqlite } from '../../src/store/sqlite.ts';
import { row } from '../conformance/rows.ts';

// Those of a time when there were three jobs would have SQLite read a million of them from end to end.
test('a server that closes leaves no statistics', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'spine-statistics-'));
  const file = join(folder, 'spine.db');
  try {
    const store = openSqlite({ file, identity: 'x' });
    await store.transaction(0, async (tx) => tx.jobs.insert([row(), row(), row()]));
    await store.close();
    const sql = new SqliteConnection(file);
    assert.deepEqual(sql.all("select name from sqlite_schema where name like 'sqlite_stat%'", []), []);
    sql.database.close();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
