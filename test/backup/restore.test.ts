import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { tellWhatIsWrong } from '../../src/app/backups.ts';
import { printManifest } from '../../src/backup/manifest.ts';
import type { Place } from '../../src/backup/place.ts';
import { make } from '../../src/backup/run.ts';
import { sumOfText } from '../../src/backup/sums.ts';
import { openDataDir } from '../../src/store/datadir.ts';
import { readJournal } from '../../src/files/journal-read.ts';
import { compareFiles } from '../../src/files/startup-check.ts';
import { openSqlite } from '../../src/store/sqlite.ts';
import { everything, HEAD, LEFT, openBench } from '../files/fixture.ts';
import { faultsOf, filesIn, flipBit, HOUR_MS, NOW, openShop } from './support.ts';

const random = (): string => 'new';

test('a restore gives back jobs, artifacts and journal, and the server goes on with them [SC-75]', async () => {
  await using shop = await openShop();
  await shop.make();
  const before = await everything(shop.bench.store);
  await shop.addJob('after it');
  const { dir, manifest, artifacts, journal, skipped, asides } = await shop.restore();
  assert.deepEqual(
    { name: manifest.name, artifacts, journal, skipped, asides },
    { name: '2026-11-17/02-05-33', artifacts: 1, journal: true, skipped: [], asides: [] },
  );
  assert.deepEqual(await faultsOf(dir), []);
  let lines = 0;
  for await (const _ of readJournal(join(dir, 'journal'))) lines++;
  assert.ok(lines > 1);
  const opened = openDataDir(dir, { random });
  assert.deepEqual([opened.identity, opened.isNew, opened.closedInOrder], ['test-identity', false, false]);
  const store = openSqlite({ file: opened.dbFile, identity: opened.identity });
  assert.deepEqual(await everything(store), before);
  assert.equal((await compareFiles(dir, store)).setAside, null, 'the journal is no other past');
  await store.close();
  opened.release();
});

test('the newest of snapshots and rollups is taken [SC-75]', async () => {
  await using shop = await openShop();
  await shop.make(NOW, 'snapshot');
  await shop.make(NOW + 1_000, 'rollup');
  assert.equal((await shop.restore()).manifest.kind, 'rollup');
  await shop.make(NOW + 2_000, 'snapshot');
  const { manifest } = await shop.restore();
  assert.deepEqual([manifest.kind, manifest.name], ['snapshot', '2026-11-17/02-05-35']);
  assert.equal((await shop.restore({ name: '2026-11-17/02-05-33' })).manifest.name, '2026-11-17/02-05-33');
});

test('what bots collected comes back byte for byte, and a file that one put there itself [SC-15 TQ-11]', async () => {
  await using shop = await openShop();
  const { dataDir } = shop.installation;
  const key = await shop.addBatch('first');
  const own = `worker-results/${key.split('/')[1]}/a table.csv`;
  mkdirSync(dirname(join(dataDir, 'objects', own)), { recursive: true });
  writeFileSync(join(dataDir, 'objects', own), 'a,b');
  const held = await shop.bench.engine.jobs.get(HEAD, key.split('/')[1] ?? '');
  const file = { filename: 'a table.csv', contentType: 'text/csv', size: 3 };
  await shop.bench.engine.taskData.register(LEFT, held, { ...file, key: own });
  await shop.bench.engine.taskData.register(LEFT, held, { ...file, key: own.replace('table', 'promise') });
  const { manifest, place } = await shop.make(NOW);
  assert.deepEqual([manifest.objects?.count, manifest.lost.count], [2, 0]);
  await shop.addBatch('second');
  const next = await shop.make(NOW + 5_000);
  assert.equal(next.manifest.objects?.count, 3);
  assert.equal(filesIn(place).filter((name) => name.startsWith('objects/')).length, 3, 'each piece once');
  const { dir, objects, lost } = await shop.restore();
  assert.deepEqual([objects, lost, await faultsOf(dir)], [3, [], []]);
  for (const name of filesIn(join(dataDir, 'objects')))
    assert.deepEqual(
      readFileSync(join(dir, 'objects', name)),
      readFileSync(join(dataDir, 'objects', name)),
      name,
    );
});

test('of what bots collected the pieces that are gone or changed are named, at the backup and at the restore [SC-15 TQ-11]', async () => {
  await using shop = await openShop();
  const { dataDir } = shop.installation;
  const [gone, changed, spoilt] = [
    await shop.addBatch('1'),
    await shop.addBatch('2'),
    await shop.addBatch('3'),
  ];
  rmSync(join(dataDir, 'objects', gone));
  flipBit(join(dataDir, 'objects', changed));
  const { manifest, place } = await shop.make();
  assert.deepEqual([manifest.lost.count, manifest.lost.ids.toSorted()], [2, [gone, changed].toSorted()]);
  for (const file of filesIn(place).filter((name) => name.startsWith('objects/'))) flipBit(join(place, file));
  const { lost, objects, dir, artifacts } = await shop.restore();
  assert.deepEqual([objects, artifacts, lost.toSorted()], [0, 1, [gone, changed, spoilt].toSorted()]);
  const [found = ''] = await faultsOf(dir);
  assert.match(found, /^task data: worker-data\/\S+; /);
});

test('what lies in a bucket is left to it: neither copied nor looked for [SC-15 TQ-11]', async () => {
  await using shop = await openShop();
  await shop.addBatch('elsewhere');
  const installation = { ...shop.installation, objectFolder: null };
  const [made] = await make(installation, [shop.place], 'snapshot', NOW);
  assert.equal(made?.manifest.objects, null);
  const { objects, lost, dir } = await shop.restore();
  assert.deepEqual([objects, lost, existsSync(join(dir, 'objects'))], [0, [], false]);
});

test('a list of objects that somebody changed does not lead out of their folder [SC-75]', async () => {
  await using shop = await openShop();
  await shop.addBatch('inside');
  const { manifest } = await shop.make();
  assert.ok(manifest.objects !== null);
  const file = join(shop.place.name, 'snapshots/2026-11-17/02-05-33');
  const text = readFileSync(`${file}.objects`, 'utf8').replace(/ worker-data\S+\n/, ' ../../escaped\n');
  writeFileSync(`${file}.objects`, text);
  const objects = { ...manifest.objects, size: text.length, sha256: sumOfText(text) };
  writeFileSync(`${file}.json`, printManifest({ ...manifest, objects }));
  const { lost, dir } = await shop.restore();
  assert.deepEqual(lost, ['../../escaped']);
  assert.equal(existsSync(join(dir, '../escaped')), false);
});

for (const part of ['db', 'json', 'artifacts', 'objects']) {
  test(`a bit that changed in the ${part} of the newest one is found, and the one before it is taken [SC-75]`, async () => {
    await using shop = await openShop();
    await shop.addBatch('collected');
    await shop.make(NOW);
    await shop.make(NOW + HOUR_MS, 'rollup');
    flipBit(join(shop.place.name, `rollups/2026-11-17/03-05-33.${part}`), 0.4);
    const { manifest, skipped, dir } = await shop.restore();
    assert.equal(manifest.name, '2026-11-17/02-05-33');
    assert.equal(skipped.length, 1);
    assert.match(skipped[0] ?? '', /^The rollup 2026-11-17\/03-05-33 in \S+ is damaged: /);
    assert.deepEqual(await faultsOf(dir), []);
  });
}

test('a part that is missing makes the one before it be taken, and nothing left is told [SC-75]', async () => {
  await using shop = await openShop();
  await shop.make(NOW);
  await shop.make(NOW + 1_000);
  rmSync(join(shop.place.name, 'snapshots/2026-11-17/02-05-34.db'));
  const { manifest, skipped } = await shop.restore();
  assert.equal(manifest.name, '2026-11-17/02-05-33');
  assert.match(skipped[0] ?? '', /is not whole: a part is missing\.$/);
  rmSync(join(shop.place.name, 'snapshots/2026-11-17/02-05-33.db'));
  const empty = join(shop.folder, 'empty');
  await assert.rejects(shop.restore({ dataDir: empty }), {
    kind: 'not_found',
    message: /^The snapshot [^]*\nThe snapshot [^]*\nThere is no backup that can be restored in \S+\.$/,
  });
  // Nothing is left that would keep a server from starting there.
  openDataDir(empty, { random }).release();
});

test('an artifact that changed in the storage is left out and told; the rest comes back [SC-75]', async () => {
  await using shop = await openShop();
  const id = await shop.addArtifact('this one');
  await shop.make();
  const [file = ''] = filesIn(shop.place.name).filter(
    (name) =>
      name.startsWith('artifacts/') && readFileSync(join(shop.place.name, name), 'utf8') === 'this one',
  );
  flipBit(join(shop.place.name, file));
  const { lost, artifacts, dir } = await shop.restore();
  assert.deepEqual([lost, artifacts], [[id], 1]);
  assert.equal(existsSync(join(dir, 'blobs', id)), false);
});

test('a piece that changed in the storage since an earlier backup is stored again by a rollup [SC-75]', async () => {
  await using shop = await openShop();
  const first = await shop.make();
  const pools = filesIn(shop.place.name).filter((name) => /^(artifacts|journal)\//.test(name));
  for (const name of pools) flipBit(join(shop.place.name, name));
  assert.equal((await shop.make(NOW + 1_000)).changed, 0, 'a snapshot does not read everything again');
  assert.equal((await shop.make(NOW + 2_000, 'rollup')).changed, pools.length);
  assert.equal((await shop.make(NOW + 3_000, 'rollup')).changed, 0);
  for (const name of [null, first.manifest.name]) {
    const { lost, journal } = await shop.restore({ name });
    assert.deepEqual([lost, journal], [[], true]);
  }
});

test('a piece that changed in the storage and here is named by the rollup that finds it [SC-75]', async () => {
  await using shop = await openShop();
  const id = await shop.addArtifact('gone everywhere');
  await shop.make();
  const [file = ''] = filesIn(shop.place.name).filter(
    (name) => readFileSync(join(shop.place.name, name), 'utf8') === 'gone everywhere',
  );
  rmSync(join(shop.place.name, file));
  writeFileSync(join(shop.place.name, file), 'gone everywhera');
  rmSync(join(shop.installation.dataDir, 'blobs', id));
  const made = await shop.make(NOW + 1_000, 'rollup');
  assert.deepEqual([made.manifest.lost, made.changed], [{ count: 1, ids: [id] }, 1]);
  const told: unknown[] = [];
  tellWhatIsWrong(made, { warn: (_, facts) => void told.push(facts) });
  assert.deepEqual(told, [
    { place: shop.place.name, name: made.manifest.name, files: 1, ids: id },
    { place: shop.place.name, pieces: 1 },
  ]);
});

test('a journal that changed in the storage is left out: the server writes it anew [SC-75]', async () => {
  await using shop = await openShop();
  await shop.make();
  const [file = ''] = filesIn(shop.place.name).filter((name) => name.startsWith('journal/'));
  flipBit(join(shop.place.name, file));
  const { journal, dir } = await shop.restore();
  assert.equal(journal, false);
  assert.deepEqual(readdirSync(join(dir, 'journal')), []);
});

test('nothing is overwritten: an installation is refused, and put aside with force [SC-75]', async () => {
  await using shop = await openShop();
  await shop.make();
  await shop.addJob('only here');
  const { dataDir } = shop.installation;
  await shop.bench.store.close();
  await assert.rejects(shop.restore({ dataDir }), {
    kind: 'conflict',
    message: /^There is an installation in \S+\. Name an empty folder with --data-dir, or add --force/,
  });
  const { asides } = await shop.restore({ dataDir, force: true });
  assert.deepEqual(asides, [join(dataDir, 'spine.db.before-restore-1'), join(dataDir, 'journal.before-1')]);
  await using old = openBench(dataDir, 'spine.db.before-restore-1');
  assert.equal((await everything(old.store)).length, 2);
  await using now = openBench(dataDir);
  assert.equal((await everything(now.store)).length, 1);
});

test('a restore is refused while a server uses the data dir, with force too [SC-75]', async () => {
  await using shop = await openShop();
  await shop.make();
  const dir = join(shop.folder, 'live');
  const live = openDataDir(dir, { random });
  for (const force of [false, true])
    await assert.rejects(shop.restore({ dataDir: dir, force }), {
      message: new RegExp(
        `^Another Spine server \\(process ${process.pid}\\) uses this data dir\\. Stop it first`,
      ),
    });
  live.release();
});

test('a restore that was killed half-way is noticed by the server, and done again [SC-75]', async () => {
  await using shop = await openShop();
  await shop.make();
  const dir = join(shop.folder, 'half');
  mkdirSync(dir, { mode: 0o700 });
  // What a kill leaves: the mark, and a part of the rest.
  writeFileSync(join(dir, 'spine.restoring'), '');
  mkdirSync(join(dir, 'blobs'));
  writeFileSync(join(dir, 'blobs/half.part'), 'x');
  assert.throws(() => openDataDir(dir, { random }), {
    message: /^A restore into \S+ did not finish\. Run `spine backup restore` again\.$/,
  });
  await shop.restore({ dataDir: dir });
  openDataDir(dir, { random }).release();
  assert.deepEqual(await faultsOf(dir), []);
});

test('a storage that goes away in the middle of a restore leaves the data dir as it was [SC-75]', async () => {
  await using shop = await openShop();
  await shop.make();
  const { dataDir } = shop.installation;
  await shop.bench.store.close();
  const { place } = shop;
  const vanishing: Place = {
    ...place,
    async *read(key) {
      if (key.startsWith('artifacts/')) throw new TypeError('fetch failed');
      yield* place.read(key);
    },
  };
  rmSync(join(dataDir, 'blobs'), { recursive: true });
  const before = filesIn(dataDir);
  await assert.rejects(shop.restore({ dataDir, force: true, places: [vanishing] }), /fetch failed/);
  assert.deepEqual(
    filesIn(dataDir).filter((file) => file !== 'spine.lock'),
    before,
  );
});

test('a list that somebody changed does not lead out of the folder of artifacts [SC-75]', async () => {
  await using shop = await openShop();
  const { manifest } = await shop.make();
  const listed = manifest.artifacts ?? assert.fail();
  const file = join(shop.place.name, 'snapshots/2026-11-17/02-05-33');
  const text = readFileSync(`${file}.artifacts`, 'utf8').replace(/ \S+\n/, ' ../../escaped\n');
  writeFileSync(`${file}.artifacts`, text);
  const artifacts = { ...listed, size: text.length, sha256: sumOfText(text) };
  assert.notEqual(artifacts.sha256, listed.sha256);
  writeFileSync(`${file}.json`, printManifest({ ...manifest, artifacts }));
  const { lost, dir } = await shop.restore();
  assert.deepEqual(lost, ['../../escaped']);
  assert.equal(existsSync(join(dir, '../escaped')), false);
});
