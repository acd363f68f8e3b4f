import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { importTypes } from '../../src/import/types.ts';
import { openSqlite } from '../../src/store/sqlite.ts';

test('a type whose file has no usable schema comes without it, and the file is named', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'spine-types-'));
  const store = openSqlite({ file: ':memory:', identity: 'types' });
  t.after(async () => {
    await store.close();
    rmSync(dir, { recursive: true });
  });
  mkdirSync(join(dir, 'types'));
  const schemas = { whole: '{"type":"object"}', cut: '{"type":', list: '[]', text: '"x"' };
  for (const [index, [name, paramsSchema]] of Object.entries(schemas).entries())
    writeFileSync(join(dir, `types/${name}.json`), JSON.stringify({ no: index + 1, name, paramsSchema }));

  const unreadable = await importTypes(dir, store);
  assert.deepEqual(unreadable.toSorted(), ['types/cut.json', 'types/list.json', 'types/text.json']);
  const types = await store.read.types.all();
  const known = Object.fromEntries(types.map(({ name, paramsSchema }) => [name, paramsSchema]));
  assert.deepEqual(known, { whole: schemas.whole, cut: null, list: null, text: null });
});
