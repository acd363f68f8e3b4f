import assert from 'node:assert/strict';
import { suite, test, type TestContext } from 'node:test';
import { S3Client } from '@bradenmacdonald/s3-lite-client';
import { type Bucket, s3Place } from '../../src/backup/s3.ts';
import type { Place, Source } from '../../src/backup/place.ts';
import { list, make } from '../../src/backup/run.ts';
import { sumOf } from '../../src/backup/sums.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { eventually } from '../scheduler/support.ts';
import { givenS3 } from '../support/s3/given.ts';
import { backsUpUnderLoad, backup, begin, type Env } from './live.ts';
import { faultsOf, NOW, openShop } from './support.ts';

const MIB = 1024 * 1024;

/** Waited for here: its first installation may take longer than a test. */
const given = await givenS3();

let buckets = 0;

interface Box {
  readonly bucket: Bucket;
  readonly place: Place;
  readonly client: S3Client;
  readonly env: Env;
}

/** A new bucket on the real server; null, with the test skipped, where there is none. */
async function newBox(t: TestContext): Promise<Box | null> {
  if ('missing' in given) {
    t.skip(given.missing);
    return null;
  }
  const { endpoint, accessKey, secretKey } = given;
  const name = `box-${process.pid}-${++buckets}`;
  const settings = { accessKey, secretKey, region: 'us-east-1', bucket: name };
  const client = new S3Client({ ...settings, endPoint: endpoint });
  await client.makeBucket(name);
  const bucket = { ...settings, endpoint, prefix: 'scheduler', sessionToken: null };
  const env = {
    SCHEDULER_BACKUP_BUCKET: name,
    SPINE_BACKUP_ENDPOINT: endpoint,
    AWS_ACCESS_KEY_ID: accessKey,
    AWS_SECRET_ACCESS_KEY: secretKey,
  };
  return { bucket, place: open(bucket), client, env };
}

function open(bucket: Bucket, timeoutMs = 60_000): Place {
  const clock = systemClock();
  return s3Place(bucket, { timeoutMs, after: (delayMs, task) => clock.after(delayMs, task) });
}

async function keysOf(place: Place, prefix = ''): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of place.list(prefix)) keys.push(key);
  return keys.toSorted();
}

/** Bytes that come one after another, and are never all in memory. */
function streamed(size: number): Source {
  return {
    size,
    async *open() {
      for (let at = 0; at < size; at += MIB) yield Buffer.alloc(Math.min(MIB, size - at), at / MIB);
    },
  };
}

suite('a real S3 server', () => {
  test('small and large objects come back as they were put, and are listed with their sizes [SC-15 SC-72]', async (t) => {
    const box = await newBox(t);
    if (box === null) return;
    const { place } = box;
    for (const [key, size] of [
      ['empty', 0],
      ['small', 5],
      ['large-in-three-parts', 16 * MIB + 17],
    ] as const) {
      const source = streamed(size);
      await place.put(key, source);
      assert.deepEqual(await sumOf(place.read(key)), await sumOf(source.open()), key);
    }
    assert.deepEqual(await keysOf(place), ['empty', 'large-in-three-parts', 'small']);
    await place.remove('large-in-three-parts');
    await place.remove('large-in-three-parts');
    await assert.rejects(sumOf(place.read('large-in-three-parts')), { kind: 'not_found' });
  });

  test('a wrong secret, a wrong bucket and a closed port are each told in one line [SC-72]', async (t) => {
    const box = await newBox(t);
    if (box === null) return;
    await using shop = await openShop();
    const dataDir = ['--data-dir', shop.installation.dataDir];
    const wrongSecret = { ...box.env, AWS_SECRET_ACCESS_KEY: 'not-the-secret' };
    const refused = await backup(['snapshot', ...dataDir], wrongSecret);
    assert.equal(refused.code, 4);
    assert.match(
      refused.stderr,
      /^spine: http:\S+ does not let us into the bucket \S+ \(the key \S+; SignatureDoesNotMatch: [^\n]+\n$/,
    );
    assert.ok(!refused.stderr.includes('not-the-secret'));
    const noBucket = await backup(['snapshot', ...dataDir], {
      ...box.env,
      SCHEDULER_BACKUP_BUCKET: 'not-there',
    });
    assert.equal(noBucket.code, 78);
    assert.match(noBucket.stderr, /^spine: There is no bucket not-there at http:\S+\. Make it first\.\n$/);
    const closed = await backup(['snapshot', ...dataDir], {
      ...box.env,
      SPINE_BACKUP_ENDPOINT: 'http://127.0.0.1:9',
    });
    assert.equal(closed.code, 6);
    assert.match(closed.stderr, /^spine: http:\/\/127\.0\.0\.1:9 cannot be reached \([^\n]+\)\.\n$/);
    assert.deepEqual(await keysOf(box.place), []);
  });

  test('a bit that changed in the newest one is found, and the one before it is taken [SC-75]', async (t) => {
    const box = await newBox(t);
    if (box === null) return;
    await using shop = await openShop();
    await make(shop.installation, [box.place], 'snapshot', NOW);
    await make(shop.installation, [box.place], 'rollup', NOW + 60_000);
    const key = 'scheduler/rollups/2026-11-17/02-06-33.db';
    const bytes = new Uint8Array(await (await box.client.getObject(key)).arrayBuffer());
    bytes[5_000] = (bytes[5_000] ?? 0) ^ 1;
    await box.client.putObject(key, bytes);
    const { manifest, skipped, dir } = await shop.restore({ places: [box.place] });
    assert.equal(manifest.name, '2026-11-17/02-05-33');
    assert.match(skipped[0] ?? '', /^The rollup 2026-11-17\/02-06-33 in s3:\S+ is damaged/);
    assert.deepEqual(await faultsOf(dir), []);
  });

  test('an upload that is killed in the middle leaves the old ones, and the next one cleans up after it [SC-15 SC-73]', async (t) => {
    const box = await newBox(t);
    if (box === null) return;
    await using shop = await openShop();
    await make(shop.installation, [box.place], 'snapshot', NOW - 3_600_000);
    // Each is read, sent and read back, so that there is a middle to be killed in.
    for (let n = 0; n < 40; n++) await shop.addArtifact(`artifact ${n} `.repeat(200));
    const child = begin(['snapshot', '--data-dir', shop.installation.dataDir], box.env);
    await eventually('it is in the middle', 60_000, async () =>
      (await keysOf(box.place, 'artifacts/')).length > 5 ? true : null,
    );
    child.kill('SIGKILL');
    await child.ran;
    assert.ok((await keysOf(box.place, 'artifacts/')).length < 41, 'it was killed before its end');
    const names = (await list([box.place])).map(({ name }) => name);
    assert.deepEqual(names, ['2026-11-17/01-05-33']);
    const { lost, dir } = await shop.restore({ places: [box.place] });
    assert.deepEqual([lost, await faultsOf(dir)], [[], []]);
    const [again] = await make(shop.installation, [box.place], 'snapshot', NOW);
    assert.equal(again?.manifest.artifacts?.count, 41);
    assert.equal((await shop.restore({ places: [box.place] })).artifacts, 41);
  });

  test('every backup made under 200 writes a second restores to a committed moment with its artifacts [SC-15 SC-73 SC-75]', async (t) => {
    const box = await newBox(t);
    if (box !== null) await backsUpUnderLoad(t, box.env, 1);
  });
});
