import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { dataOf } from '../../src/app/backups.ts';
import { loadConfig } from '../../src/config.ts';
import { emptyPools } from '../../src/backup/retention.ts';
import { list, make } from '../../src/backup/run.ts';
import { filesIn, flipBit, HOUR_MS, NOW, openShop, type Shop } from './support.ts';

const pooled = (folder: string, pool = 'artifacts'): number =>
  filesIn(folder).filter((file) => file.startsWith(`${pool}/`)).length;

/** As retention removes an artifact: the record, then the bytes. */
function forget({ installation: { dataDir } }: Shop, id: string): void {
  const database = new DatabaseSync(join(dataDir, 'spine.db'), { timeout: 1_000 });
  database.prepare('delete from blob where id = ?').run(id);
  database.close();
  rmSync(join(dataDir, 'blobs', id));
}

test('snapshots go after their hours and rollups after their days, as the settings say [SC-73 SC-74]', async () => {
  await using shop = await openShop();
  const installation = {
    ...shop.installation,
    retention: { snapshotMs: 2 * HOUR_MS, rollupMs: 5 * HOUR_MS },
  };
  const at = (hours: number): number => NOW + hours * HOUR_MS;
  for (const hours of [0, 1, 2, 3]) {
    await make(installation, [shop.place], 'snapshot', at(hours));
    await make(installation, [shop.place], 'rollup', at(hours));
  }
  const [last] = await make(installation, [shop.place], 'snapshot', at(5.5));
  const kept = (await list([shop.place])).map(({ kind, at: time }) => `${kind} ${(time - NOW) / HOUR_MS}`);
  assert.deepEqual(kept, ['snapshot 5.5', 'rollup 3', 'rollup 2', 'rollup 1']);
  assert.equal(last?.removed, 4);
});

test('the hours and days are those of the settings [SC-73 SC-74]', () => {
  const set = { SCHEDULER_BACKUP_RETENTION_H: '5', SCHEDULER_BACKUP_ROLLUP_DAYS: '3' };
  const { installation } = dataOf(loadConfig(set), '/backups', '0.1.0');
  assert.deepEqual(installation.retention, { snapshotMs: 5 * HOUR_MS, rollupMs: 72 * HOUR_MS });
});

test('the newest one stays, however old it is [SC-73]', async () => {
  await using shop = await openShop();
  await shop.make(NOW - 1_000 * HOUR_MS);
  await shop.make(NOW - 1_000 * HOUR_MS + 60_000, 'rollup');
  assert.equal((await list([shop.place])).length, 2);
});

test('an artifact stays as long as a kept backup names it, and goes with the last one [SC-74]', async () => {
  await using shop = await openShop();
  const id = await shop.addArtifact('for a while');
  await shop.make(NOW, 'rollup');
  forget(shop, id);
  assert.equal(pooled(shop.place.name), 2);
  await shop.make(NOW + 24 * HOUR_MS, 'rollup');
  assert.equal(pooled(shop.place.name), 2, 'the first rollup names it');
  assert.equal((await shop.restore({ name: '2026-11-17/02-05-33' })).artifacts, 2);
  await shop.make(NOW + 8 * 24 * HOUR_MS, 'rollup');
  assert.equal(pooled(shop.place.name), 1);
});

test('what a bot collected stays as long as a kept backup names it, too [SC-74 TQ-11]', async () => {
  await using shop = await openShop();
  const key = await shop.addBatch('for a while');
  await shop.addBatch('for good');
  await shop.make(NOW, 'rollup');
  const database = new DatabaseSync(join(shop.installation.dataDir, 'spine.db'), { timeout: 1_000 });
  database.prepare('delete from task_batch where key = ?').run(key);
  database.close();
  await shop.make(NOW + 24 * HOUR_MS, 'rollup');
  assert.equal(pooled(shop.place.name, 'objects'), 2, 'the first rollup names it');
  await shop.make(NOW + 8 * 24 * HOUR_MS, 'rollup');
  assert.equal(pooled(shop.place.name, 'objects'), 1);
  assert.equal((await shop.restore()).objects, 1);
});

test('nothing is taken out of the pools while a kept backup cannot be read [SC-74]', async () => {
  for (const part of ['json', 'artifacts', 'objects']) {
    await using shop = await openShop();
    const id = await shop.addArtifact('only in the first');
    await shop.addBatch('in both');
    await shop.make(NOW);
    forget(shop, id);
    await shop.make(NOW + 1_000);
    flipBit(join(shop.place.name, `snapshots/2026-11-17/02-05-33.${part}`), 0.3);
    assert.equal(await emptyPools(shop.place), 0);
    assert.equal(pooled(shop.place.name), 2);
  }
});
