import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { folderPlace } from '../../src/backup/folder.ts';
import { parseManifest } from '../../src/backup/manifest.ts';
import type { Place } from '../../src/backup/place.ts';
import { BackupProblem } from '../../src/backup/problem.ts';
import { list, make, status } from '../../src/backup/run.ts';
import { readState } from '../../src/backup/state.ts';
import { takeLock } from '../../src/store/datadir-lock.ts';
import { tryAlone } from '../../src/store/postgres-alone.ts';
import { freshDatabase, skipWithoutPostgres } from '../support/postgres.ts';
import { filesIn, NOW, openShop } from './support.ts';

const sha = (text: string): RegExp => new RegExp(`^${text}/[0-9a-f]{2}/[0-9a-f]{64}$`);

test('a snapshot is a database that opens, its artifacts, its journal and a manifest, dated to the second [SC-15 SC-73]', async () => {
  await using shop = await openShop();
  const { manifest, place } = await shop.make();
  const files = filesIn(place);
  assert.deepEqual(
    files.filter((file) => file.startsWith('snapshots/')),
    [
      'snapshots/2026-11-17/02-05-33.artifacts',
      'snapshots/2026-11-17/02-05-33.db',
      'snapshots/2026-11-17/02-05-33.json',
      'snapshots/2026-11-17/02-05-33.objects',
    ],
  );
  assert.equal(files.filter((file) => sha('artifacts').test(file)).length, 1);
  assert.equal(files.filter((file) => sha('journal').test(file)).length, 1);
  const copy = new DatabaseSync(join(place, 'snapshots/2026-11-17/02-05-33.db'), { readOnly: true });
  assert.deepEqual({ ...copy.prepare('select count(*) as n from job').get() }, { n: 1 });
  copy.close();
  const text = readFileSync(join(place, 'snapshots/2026-11-17/02-05-33.json'), 'utf8');
  assert.deepEqual(parseManifest(text), manifest);
  const { identity, version, jobs, artifacts } = manifest;
  assert.deepEqual(
    { identity, version, jobs, count: artifacts?.count },
    { identity: 'test-identity', version: '0.1.0', jobs: 1, count: 1 },
  );
  for (const file of files) assert.equal(statSync(join(place, file)).mode & 0o077, 0, file);
  assert.equal(existsSync(join(shop.installation.dataDir, 'backup.staging')), false);
});

test('of the servers that share a database one backs up at a time', {
  skip: skipWithoutPostgres,
}, async () => {
  await using shop = await openShop();
  const database = await freshDatabase(process.env['TEST_POSTGRES_URL'] ?? '');
  try {
    const installation = { ...shop.installation, postgresUrl: database.url };
    const other = (await tryAlone(database.url, 'backup')) ?? assert.fail('nobody has it');
    await assert.rejects(make(installation, [shop.place], 'snapshot', NOW), {
      kind: 'busy',
      message: /^Another server of this database makes a backup/,
    });
    await other.release();
    const mine = (await tryAlone(database.url, 'backup')) ?? assert.fail('it was not given back');
    assert.equal(await tryAlone(database.url, 'backup'), null);
    await mine.release();
  } finally {
    await database.drop();
  }
});

test('a bit that changes in a manifest is noticed, wherever it is [SC-73]', async () => {
  await using shop = await openShop();
  const { place } = await shop.make();
  const text = readFileSync(join(place, 'snapshots/2026-11-17/02-05-33.json'), 'utf8');
  for (let at = 0; at < text.length; at++) {
    const flipped = Buffer.from(text);
    flipped[at] = (flipped[at] ?? 0) ^ 1;
    const parsed = parseManifest(flipped.toString());
    // Between the words a space may become something that JSON does not mind.
    if (parsed !== null) assert.deepEqual(parsed, parseManifest(text));
  }
});

test('an artifact is brought there once, however many snapshots name it [SC-73]', async () => {
  await using shop = await openShop();
  const first = await shop.make(NOW);
  await shop.addArtifact('the first artifact');
  await shop.addArtifact('another');
  const second = await shop.make(NOW + 5_000);
  const third = await shop.make(NOW + 10_000);
  assert.equal(third.manifest.artifacts?.count, 3);
  assert.equal(filesIn(first.place).filter((file) => sha('artifacts').test(file)).length, 2);
  assert.equal(second.uploadedBytes - third.uploadedBytes, 'another'.length);
});

test('two snapshots in one second get names of their own [SC-73]', async () => {
  await using shop = await openShop();
  const names = [await shop.make(), await shop.make(), await shop.make(NOW, 'rollup')];
  assert.deepEqual(
    names.map(({ manifest: { kind, name } }) => `${kind} ${name}`),
    ['snapshot 2026-11-17/02-05-33', 'snapshot 2026-11-17/02-05-34', 'rollup 2026-11-17/02-05-33'],
  );
});

test('an artifact that is gone or changed does not keep the others from being saved, and is named [SC-15]', async () => {
  await using shop = await openShop();
  const gone = await shop.addArtifact('gone');
  const changed = await shop.addArtifact('changed');
  rmSync(join(shop.installation.dataDir, 'blobs', gone));
  writeFileSync(join(shop.installation.dataDir, 'blobs', changed), 'CHANGED');
  const { manifest } = await shop.make();
  assert.deepEqual(
    { count: manifest.lost.count, ids: manifest.lost.ids.toSorted() },
    { count: 2, ids: [gone, changed].toSorted() },
  );
  const restored = await shop.restore();
  assert.equal(restored.artifacts, 1);
  assert.deepEqual(restored.lost.toSorted(), [gone, changed].toSorted());
});

test('a prefix that holds the backups of another installation is refused [SC-72]', async () => {
  await using shop = await openShop();
  await using other = await openShop();
  await shop.make();
  writeFileSync(join(shop.place.name, 'owner'), 'somebody-else\n');
  await assert.rejects(make(other.installation, [shop.place], 'snapshot', NOW + 1), {
    kind: 'conflict',
    message:
      /holds the backups of another installation \(somebody-else\)\. Set another SCHEDULER_BACKUP_PREFIX/,
  });
});

test('only one process backs a data dir up at a time, and the lock goes with it [SC-15]', async () => {
  await using shop = await openShop();
  const { dataDir } = shop.installation;
  const lock = takeLock(join(dataDir, 'backup.lock'), join(dataDir, 'backup.pid'));
  await assert.rejects(shop.make(), {
    kind: 'busy',
    message: /^Another backup of this data dir is under way/,
  });
  lock.release();
  await shop.make();
});

/** A place in which something goes wrong at a certain key. */
function failing(place: Place, at: RegExp, error: () => Error): Place {
  return {
    ...place,
    put: async (key, source) => {
      if (at.test(key)) throw error();
      await place.put(key, source);
    },
  };
}

test('an upload that fails is an error, leaves the older ones, and the next one sweeps its rest out [SC-15 SC-73]', async () => {
  await using shop = await openShop();
  await shop.make();
  const { dataDir } = shop.installation;
  const full = () => Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
  for (const [n, at] of [/\.db$/, /\.artifacts$/, /\.json$/].entries()) {
    const place = failing(shop.place, at, full);
    await assert.rejects(make(shop.installation, [place], 'snapshot', NOW + 60_000 * (n + 1)), {
      kind: 'failure',
      message: 'The disk is full (no space left on device). Free some space.',
    });
    assert.match((await readState(dataDir)).lastError ?? '', /^The disk is full/);
    assert.deepEqual(
      (await list([shop.place])).map(({ name }) => name),
      ['2026-11-17/02-05-33'],
    );
    assert.equal((await shop.restore()).manifest.name, '2026-11-17/02-05-33');
  }
  assert.equal(filesIn(shop.place.name).filter((file) => /02-07-33|02-08-33/.test(file)).length, 4);
  await shop.make(NOW + 600_000);
  assert.equal(filesIn(shop.place.name).filter((file) => /02-07-33|02-08-33/.test(file)).length, 0);
  assert.equal((await readState(dataDir)).lastError, null);
});

test('what does not come back as it was written is no backup [SC-15]', async () => {
  await using shop = await openShop();
  const { place } = shop;
  const lying: Place = {
    ...place,
    async *read(key) {
      for await (const chunk of place.read(key)) yield key.endsWith('.db') ? chunk.subarray(1) : chunk;
    },
  };
  await assert.rejects(make(shop.installation, [lying], 'snapshot', NOW), {
    message: /\.db did not come back from .* as it was written: it is no backup\.$/,
  });
  assert.deepEqual(await list([place]), []);
});

test('a place that fails keeps the other one from nothing, and is told [SC-15]', async () => {
  await using shop = await openShop();
  const second = folderPlace(join(shop.folder, 'second'), 'scheduler');
  const broken: Place = {
    ...second,
    read: () => {
      throw new BackupProblem('unavailable', 'nobody is there');
    },
  };
  await assert.rejects(make(shop.installation, [broken, shop.place], 'snapshot', NOW), {
    kind: 'unavailable',
    message: 'nobody is there',
    partly: true,
  });
  assert.equal((await list([shop.place])).length, 1);
  const { lastSnapshotAt, lastError } = await readState(shop.installation.dataDir);
  assert.deepEqual({ lastSnapshotAt, lastError }, { lastSnapshotAt: NOW, lastError: 'nobody is there' });
});

test('status tells of the newest one, of all that is kept, and of what went wrong [SC-75]', async () => {
  await using shop = await openShop();
  await shop.make(NOW);
  await shop.make(NOW + 1_000, 'rollup');
  await shop.make(NOW + 9_000);
  const told = await status(shop.installation.dataDir, [shop.place]);
  const [place] = told.places;
  assert.deepEqual(
    {
      snapshots: place?.snapshots,
      rollups: place?.rollups,
      newest: place?.newest?.name,
      error: place?.error,
    },
    { snapshots: 2, rollups: 1, newest: '2026-11-17/02-05-42', error: null },
  );
  const all = filesIn(shop.place.name)
    .filter((file) => file !== 'owner')
    .reduce((sum, file) => sum + statSync(join(shop.place.name, file)).size, 0);
  assert.equal(place?.bytes, all);
  assert.deepEqual(
    [told.lastSnapshotAt, told.lastRollupAt, told.lastError],
    [NOW + 9_000, NOW + 1_000, null],
  );
});
