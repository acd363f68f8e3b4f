import assert from 'node:assert/strict';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { test } from 'node:test';
import { create, SQLITE_FILE } from '../support/engines.ts';

const FULL = 2;

test('the connection that commits syncs every commit: acknowledged jobs outlast a power cut', async (t) => {
  const connections = new Set<DatabaseSync>();
  // A method of Node's own, called with its own `this` as before.
  // oxlint-disable-next-line typescript/unbound-method
  const { prepare } = DatabaseSync.prototype;
  t.mock.method(
    DatabaseSync.prototype,
    'prepare',
    function (this: DatabaseSync, text: string): StatementSync {
      if (text.startsWith('insert into job ')) connections.add(this);
      return prepare.call(this, text);
    },
  );
  await using spine = await SQLITE_FILE.open();
  await create(spine);
  assert.equal(connections.size, 1, 'one connection writes');
  for (const connection of connections) {
    assert.deepEqual({ ...connection.prepare('pragma synchronous').get() }, { synchronous: FULL });
    assert.deepEqual({ ...connection.prepare('pragma journal_mode').get() }, { journal_mode: 'wal' });
  }
});
